import importlib.metadata
import inspect

import gpt5_payloads


def test_all_is_sorted_and_complete():
    public = {
        name
        for name, value in vars(gpt5_payloads).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert gpt5_payloads.__all__ == sorted(gpt5_payloads.__all__)
    assert set(gpt5_payloads.__all__) == public


def test_every_exported_error_descends_from_the_root():
    errors = [
        value
        for value in vars(gpt5_payloads).values()
        if inspect.isclass(value) and issubclass(value, Exception)
    ]

    assert errors
    assert all(issubclass(error, gpt5_payloads.PayloadError) for error in errors)


def test_the_root_error_is_a_value_error_that_names_its_field():
    error = gpt5_payloads.PayloadError("verbosity is odd", field="verbosity")

    assert isinstance(error, ValueError)
    assert (str(error), error.field) == ("verbosity is odd", "verbosity")


def test_the_version_is_the_published_one():
    assert importlib.metadata.version("gpt5-payloads").count(".") == 2

import inspect
from importlib import metadata

import gpt5_responses


def test_the_export_list_is_sorted_and_complete() -> None:
    public = {
        name
        for name, value in vars(gpt5_responses).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert gpt5_responses.__all__ == sorted(public)


def test_every_error_descends_from_the_root() -> None:
    errors = [
        value
        for value in vars(gpt5_responses).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]

    assert all(issubclass(error, gpt5_responses.ResponsesError) for error in errors)


def test_the_package_knows_its_version() -> None:
    assert metadata.version("gpt5-responses").count(".") == 2

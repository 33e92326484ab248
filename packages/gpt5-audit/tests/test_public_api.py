import importlib.metadata
import inspect

import gpt5_audit


def test_all_is_sorted_and_complete():
    public = {
        name
        for name, value in vars(gpt5_audit).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert gpt5_audit.__all__ == sorted(gpt5_audit.__all__)
    assert set(gpt5_audit.__all__) == public


def test_the_package_has_no_errors_of_its_own():
    assert not [
        value
        for value in vars(gpt5_audit).values()
        if inspect.isclass(value) and issubclass(value, Exception)
    ]


def test_the_version_is_the_published_one():
    assert importlib.metadata.version("gpt5-audit").count(".") == 2

"""Every package says in `__all__` what it exports, has one root for its errors, and knows its version.

That `__all__` is sorted is the linter's business, and that every public name is described that of the reference.
"""

import importlib
import inspect
import re
from importlib.metadata import version

import pytest

from pages import IMPORT_NAMES


MODULES = {
    distribution: module
    for distribution, name in IMPORT_NAMES.items()
    if hasattr(module := importlib.import_module(name), "__all__")
}
each_package = pytest.mark.parametrize("distribution", sorted(MODULES))


@each_package
def test_all_names_everything_that_a_package_exports(distribution: str) -> None:
    module = MODULES[distribution]
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert set(module.__all__) == public


@each_package
def test_the_errors_of_a_package_descend_from_one_root(distribution: str) -> None:
    """Its own, or that of a package below it."""
    module = MODULES[distribution]
    errors = [
        value
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Exception)
        and value.__module__.startswith(module.__name__)
    ]

    assert len([error for error in errors if not any(map(is_ours, error.__mro__[1:]))]) <= 1


def is_ours(base: type) -> bool:
    return base.__module__.partition(".")[0] in IMPORT_NAMES.values()


@pytest.mark.parametrize("distribution", sorted(IMPORT_NAMES))
def test_a_package_knows_its_version(distribution: str) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", version(distribution))

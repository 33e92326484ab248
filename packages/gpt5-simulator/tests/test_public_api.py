import importlib.metadata
import inspect

import gpt5_simulator


def test_the_export_list_is_sorted_and_complete():
    public = {
        name
        for name, value in vars(gpt5_simulator).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert gpt5_simulator.__all__ == sorted(public, key=lambda name: (not name.isupper(), name))


def test_every_error_descends_from_the_root():
    errors = [
        value
        for name in gpt5_simulator.__all__
        if isinstance(value := getattr(gpt5_simulator, name), type) and issubclass(value, Exception)
    ]
    assert len(errors) == 6
    assert all(issubclass(error, gpt5_simulator.SimulatorError) for error in errors)


def test_the_installed_version_is_known():
    assert importlib.metadata.version("gpt5-simulator").count(".") == 2

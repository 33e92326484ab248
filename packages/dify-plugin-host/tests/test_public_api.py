import importlib.metadata
import subprocess
import sys
import types

import dify_plugin_host


def test_the_exports_are_sorted_and_complete():
    public = [
        name
        for name, value in vars(dify_plugin_host).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    ]
    assert dify_plugin_host.__all__ == sorted(public)


def test_every_error_descends_from_the_root():
    errors = [
        value
        for value in vars(dify_plugin_host).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert len(errors) == 15
    assert all(issubclass(error, dify_plugin_host.PluginHostError) for error in errors)


def test_the_installed_version_is_known():
    assert importlib.metadata.version("dify-plugin-host") == "0.1.0"


def test_importing_the_host_never_loads_the_plugin_sdk():
    program = (
        "import sys, dify_plugin_host, dify_plugin_host.commands;"
        "assert not {'dify_plugin', 'gevent'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-I", "-c", program], check=True)

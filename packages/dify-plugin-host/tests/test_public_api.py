import importlib.metadata
import subprocess
import sys
import textwrap
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
    assert len(errors) == 17
    assert all(issubclass(error, dify_plugin_host.PluginHostError) for error in errors)


def test_the_installed_version_is_known():
    assert importlib.metadata.version("dify-plugin-host") == "0.1.0"


def modules_after(program):
    """Return the names of the modules that a fresh interpreter has loaded after `program`."""
    program = f"{textwrap.dedent(program)}\nimport sys\nprint(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    )
    return set(run.stdout.split())


def test_no_module_of_the_host_loads_the_plugin_sdk():
    loaded = modules_after("""
        import importlib, pkgutil, dify_plugin_host

        for module in pkgutil.walk_packages(dify_plugin_host.__path__, "dify_plugin_host."):
            importlib.import_module(module.name)
        """)
    assert "dify_plugin_host._http_server" in loaded
    assert not {"dify_plugin", "gevent"} & loaded


def test_a_command_starts_without_loading_what_only_others_need():
    loaded = modules_after("import dify_plugin_host.commands")
    assert not {"gpt5_simulator", "starlette", "uvicorn", "dify_plugin_host.checks"} & loaded

import subprocess
import sys
import textwrap


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
    loaded = modules_after("import dify_plugin_host._commands.dify_host")
    assert not {"gpt5_simulator", "starlette", "uvicorn", "dify_plugin_host._checks.check"} & loaded

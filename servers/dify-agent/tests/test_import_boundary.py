"""What loading a part of the package must not load, tried in a process of its own."""

import pkgutil
import subprocess
import sys

import dify_agent


# Loads what each stage says, one after the other, and refuses what is forbidden until then.
GUARD = """
import builtins
import sys

real_import = builtins.__import__


def is_forbidden(name):
    return any(name == each or name.startswith(each + ".") for each in forbidden)


def guarded_import(name, globals=None, locals=None, fromlist=(), level=0):
    package = (globals or {{}}).get("__package__") or ""
    base = package.rsplit(".", level - 1)[0] if level > 1 else package
    full = f"{{base}}.{{name}}".rstrip(".") if level else name
    names = [full, *(f"{{full}}.{{item}}" for item in fromlist or ())]
    if any(map(is_forbidden, names)) and package.startswith("dify_agent"):
        raise AssertionError(f"{{package}} imports {{names}}")
    return real_import(name, globals, locals, fromlist, level)


builtins.__import__ = guarded_import
for modules, forbidden in {stages!r}:
    for module in modules:
        __import__(module)
    loaded = sorted(name for name in sys.modules if is_forbidden(name))
    assert not loaded, loaded
"""

SERVER_SIDE = (
    "dify_agent.adapters",
    "dify_agent.runtime",
    "dify_agent.server",
    "dify_agent.plugin_daemon_transport",
    "dify_agent.layers.dify_plugin.llm_layer",
    "dify_agent.layers.dify_plugin.plugin_layer",
    "dify_agent.layers.dify_plugin.tool_client",
    "dify_agent.layers.dify_plugin.tools_layer",
    "anthropic",
    "dbos",
    "fastapi",
    "google",
    "graphon",
    "jsonschema",
    "openai",
    "pydantic_settings",
    "redis",
    "starlette",
    "uvicorn",
)
PATCHING = ("dify_plugin", "gevent")


CLIENT_SIDE = [
    "dify_agent",
    "dify_agent.exceptions",
    "dify_agent.compositor",
    "dify_agent.layers.dify_plugin",
    "dify_agent.preparation",
    "dify_agent.protocol",
    "dify_agent.protocol.schemas",
]


def load(*stages: tuple[list[str], tuple[str, ...]]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", GUARD.format(stages=stages)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_a_client_loads_nothing_of_the_server_and_nobody_what_patches_the_process():
    modules = [
        module.name
        for module in pkgutil.walk_packages(dify_agent.__path__, "dify_agent.")
        if not module.name.endswith("__main__")
    ]
    assert "dify_agent.runtime.runner" in modules

    done = load((CLIENT_SIDE, (*SERVER_SIDE, *PATCHING)), (modules, PATCHING))

    assert (done.returncode, done.stderr) == (0, "")


def test_the_guard_notices_what_it_is_there_for():
    done = load((["dify_agent.preparation"], ("dify_agent.layers",)))
    assert done.returncode == 1
    assert "imports ['dify_agent.layers.dify_plugin" in done.stderr

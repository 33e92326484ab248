import json
from pathlib import Path

import pytest

from dify_plugin_host.testing import DifyPlugin


KEY = "let-me-in, please"
SIZES = [{"value": "small"}, {"value": "large"}]
PARAMETERS = {
    "say": {"messages": "string"},
    "back": {"kind": "string", "request": "string"},
    "ask": {"model": "model-selector"},
    "repeat": {
        "text": "string",
        "count": "number",
        "loud": "boolean",
        "pictures": "files",
        "size": {"type": "select", "form": "form", "default": "small", "options": SIZES},
    },
    "die": {},
}


@pytest.fixture(scope="module")
def desk_folder(make_shared_plugin):
    """Write the plugin of `plugins/desk.py`, whose tools need the credential `key`."""
    script = Path(__file__).parents[1] / "plugins" / "desk.py"
    allowed = {"model": {"enabled": True, "llm": True}, "storage": {"enabled": True, "size": 1024}}
    folder = make_shared_plugin(
        script.read_text(),
        name="desk",
        plugins={"tools": ["desk.yaml"]},
        resource={"permission": allowed},
    )
    tools = [
        {
            "identity": {"name": name},
            "parameters": [
                {"name": one, **(kind if isinstance(kind, dict) else {"type": kind})}
                for one, kind in parameters.items()
            ],
        }
        for name, parameters in PARAMETERS.items()
    ]
    key = {"type": "secret-input", "required": True}
    provider = {"identity": {"name": "desk"}, "credentials_for_provider": {"key": key}}
    (folder / "desk.yaml").write_text(json.dumps({**provider, "tools": tools}))
    return folder


@pytest.fixture(scope="module")
def desk(desk_folder):
    """Run the tool plugin."""
    with DifyPlugin(desk_folder, credentials={"key": KEY}) as plugin:
        yield plugin


@pytest.fixture(scope="module")
def agent(shared_plugins, desk_folder):
    """Run the agent plugin, with the model plugin and the tool plugin beside it."""
    beside = [shared_plugins / "echo_model", desk_folder]
    with DifyPlugin(shared_plugins / "small_agent", beside=beside) as plugin:
        yield plugin


@pytest.fixture(scope="module")
def echo_plugin(shared_plugins):
    """Run the model plugin."""
    with DifyPlugin(shared_plugins / "echo_model") as plugin:
        yield plugin

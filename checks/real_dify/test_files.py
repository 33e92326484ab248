"""A plugin uploads a file: by the daemon it asks Dify where to, and the link that it gets takes the bytes."""

import json
import shutil
from pathlib import Path

from official import official_package


PLUGINS = Path(__file__).parents[2] / "workbench/dify-plugin-host/tests/plugins"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def test_a_plugin_uploads_a_file_through_the_daemon(client, programs, inner_api, tmp_path):
    folder = tmp_path / "plugin"
    shutil.copytree(PLUGINS / "small_agent", folder)
    shutil.copy(PLUGINS / "wire.py", folder)
    project = '[project]\nname = "small-agent"\nversion = "0.0.1"\nrequires-python = ">=3.12"\n'
    (folder / "pyproject.toml").write_text(f"{project}dependencies = []\n", encoding="utf-8")
    client.install(official_package(programs, folder, tmp_path, "small_agent"))
    asked = {"name": "größe 1.png", "type": "image/png", "hex": PNG.hex()}
    data = {
        "agent_strategy_provider": "small_agent",
        "agent_strategy": "steps",
        "agent_strategy_params": {"query": f"upload {json.dumps(asked)}"},
    }
    [told] = client.call("tests/small_agent", "agent_strategy/invoke", data)

    status, answer = json.loads(told["message"]["text"])
    assert (status, answer["id"]) == (201, "file-1")
    [request] = inner_api.upload_requests
    assert (request["filename"], request["mimetype"]) == ("größe 1.png", "image/png")
    assert inner_api.uploads == [("größe 1.png", "image/png", PNG)]

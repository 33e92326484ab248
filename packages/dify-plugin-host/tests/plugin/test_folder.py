import json

import pytest

from dify_plugin_host import PluginFolder, PluginFolderError
from dify_plugin_host.plugin import tool_providers


def test_a_folder_says_what_its_manifest_says(plugins):
    folder = PluginFolder.read(plugins / "small_agent")
    assert folder.path == plugins / "small_agent"
    assert (folder.author, folder.name, folder.entrypoint) == ("tests", "small_agent", "main")
    assert folder.permission.model.llm is True
    assert folder.permission.storage.enabled is False
    assert folder.has("agent_strategies")
    assert not folder.has("models")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(PluginFolderError, match="no such folder; expected a Dify plugin folder"):
        PluginFolder.read(tmp_path / "nowhere")


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    with pytest.raises(PluginFolderError, match=r"expected a file 'manifest.yaml'") as caught:
        PluginFolder.read(tmp_path)
    assert caught.value.folder == tmp_path


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ("author: [", "'manifest.yaml' cannot be read"),
        ("just text", "Input should be a valid dictionary"),
        ("{author: a, name: n, version: 0.0.1, plugins: {}}", "'meta': Field required"),
        (
            "{author: a, name: n, version: 0.0.1, plugins: {}, meta: {runner: {}}}",
            r"'meta.runner.entrypoint': Field required",
        ),
    ],
)
def test_a_manifest_without_what_starting_needs_is_refused(tmp_path, manifest, problem):
    (tmp_path / "manifest.yaml").write_text(manifest)
    with pytest.raises(PluginFolderError, match=problem):
        PluginFolder.read(tmp_path)


def test_a_declaration_must_be_a_mapping(make_plugin):
    folder = make_plugin("", plugins={"models": ["provider.yaml"]})
    (folder / "provider.yaml").write_text("[1]")
    with pytest.raises(PluginFolderError, match=r"expected a mapping in 'provider.yaml'"):
        list(PluginFolder.read(folder).providers("models"))


def test_a_position_file_must_be_a_list(plugins):
    folder = PluginFolder.read(plugins / "echo_model")
    with pytest.raises(PluginFolderError, match=r"expected a list in 'models/llm/echo-1.yaml'"):
        folder.read_names("models/llm/echo-1.yaml")


def test_null_in_a_manifest_means_the_same_as_nothing(tmp_path):
    (tmp_path / "manifest.yaml").write_text(
        "{author: a, name: n, version: 0.0.1, meta: {runner: {entrypoint: main}}, tags: null, description: null,"
        " plugins: {models: null, tools: null}, resource: {permission: {tool: null, model: {enabled: null}}}}"
    )
    folder = PluginFolder.read(tmp_path)
    assert not folder.has("models")
    assert folder.permission.tool.enabled is False


def declare(make_plugin, provider, **manifest):
    folder = make_plugin("", plugins={"tools": ["p.yaml"]}, **manifest)
    tool = {"identity": {"name": "in_place"}, "parameters": []}
    (folder / "p.yaml").write_text(json.dumps({"identity": provider, "tools": ["t.yaml", tool]}))
    (folder / "t.yaml").write_text('{"identity": {"name": "in_a_file"}}')
    (found,) = tool_providers(PluginFolder.read(folder))
    return found


def test_what_a_tool_provider_does_not_say_of_itself_its_manifest_says(make_plugin):
    manifest = {"tags": ["search", "rag"], "description": {"en_US": "Of the plugin."}}
    found = declare(make_plugin, {"name": "p", "tags": [], "description": {}}, **manifest)
    identity = found.declaration["identity"]
    assert (identity["tags"], identity["description"]) == (
        ["search", "rag"],
        {"en_US": "Of the plugin."},
    )


def test_what_a_tool_provider_says_of_itself_stands(make_plugin):
    own = {"name": "p", "tags": ["news"], "description": {"en_US": "Of the tools."}}
    found = declare(make_plugin, own, tags=["search"], description={"en_US": "Of the plugin."})
    assert found.declaration["identity"] == own


def test_a_tool_may_be_declared_in_place(make_plugin):
    found = declare(make_plugin, {"name": "p"})
    assert list(found.tools) == ["in_a_file", "in_place"]
    assert found.declaration["identity"]["tags"] == []

import sys

import pytest

from dify_plugin_packager import PluginFolder, PluginFolderError


def test_a_folder_says_what_its_manifest_says(workshop):
    folder = PluginFolder.read(workshop / "plugins" / "small_agent")
    assert folder.path == workshop / "plugins" / "small_agent"
    assert (folder.author, folder.name, folder.entrypoint) == ("tests", "small_agent", "main")
    assert folder.permission["model"]["llm"] is True
    assert "storage" not in folder.permission
    assert folder.version == "0.0.1"
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
        (
            "just text",
            "'manifest.yaml' cannot be read: line 1: expected a mapping, got 'just text'",
        ),
        (
            "{author: a, name: n, version: 0.0.1, plugins: {}}",
            "'meta.runner.entrypoint': expected a value",
        ),
        ("author: { a: b }", "cannot be read: line 1: 'author': expected a text, got a mapping"),
        (
            "{author: a, name: n, version: 0.0.1, plugins: {}, meta: {runner: {}}}",
            "'meta.runner.entrypoint': expected a value",
        ),
    ],
)
def test_a_manifest_without_what_starting_needs_is_refused(tmp_path, manifest, problem):
    (tmp_path / "manifest.yaml").write_text(manifest)
    with pytest.raises(PluginFolderError, match=problem):
        PluginFolder.read(tmp_path)


def test_a_declaration_must_be_a_mapping(plugin_folder):
    folder = plugin_folder(plugins={"models": ["provider.yaml"]})
    (folder / "provider.yaml").write_text("[1]")
    with pytest.raises(PluginFolderError, match=r"expected a mapping in 'provider.yaml'"):
        list(PluginFolder.read(folder).providers("models"))


@pytest.mark.parametrize("content", [b"a: [", b"\xff"])
def test_a_declaration_that_cannot_be_read_is_named(plugin_folder, content):
    folder = plugin_folder(plugins={"models": ["provider.yaml"]})
    (folder / "provider.yaml").write_bytes(content)
    with pytest.raises(PluginFolderError, match=r"'provider.yaml' cannot be read: "):
        list(PluginFolder.read(folder).providers("models"))


def test_a_position_file_must_be_a_list(workshop):
    folder = PluginFolder.read(workshop / "plugins" / "echo_model")
    with pytest.raises(PluginFolderError, match=r"expected a list in 'models/llm/echo-1.yaml'"):
        folder.read_names("models/llm/echo-1.yaml")


def test_null_in_a_manifest_means_the_same_as_nothing(tmp_path):
    (tmp_path / "manifest.yaml").write_text(
        "{author: a, name: n, version: 0.0.1, meta: {runner: {entrypoint: main}}, tags: null, description: null,"
        " plugins: {models: null, tools: null}, resource: {permission: {tool: null, model: {enabled: null}}}}"
    )
    folder = PluginFolder.read(tmp_path)
    assert not folder.has("models")
    assert folder.permission["tool"] is None


def test_a_declaration_is_read_with_the_names_of_a_list(workshop):
    folder = PluginFolder.read(workshop / "plugins" / "echo_model")
    assert folder.read_yaml("provider/echo.yaml")["provider"] == "echo"
    assert folder.read_names("models/llm/_position.yaml") == ["echo-2", "echo-1"]


@pytest.mark.parametrize(
    ("names", "command"),
    [
        (["pyproject.toml", "requirements.txt"], "uv sync"),
        (["requirements.txt"], "uv venv --python 3.12 && uv pip install -r requirements.txt"),
        (["requirements.txt", ".venv"], "uv pip install -r requirements.txt"),
        ([], "uv sync"),
    ],
)
def test_a_folder_says_what_makes_its_environment(plugin_folder, names, command):
    folder = plugin_folder()
    for name in names:
        (folder / name).touch()
    assert PluginFolder.read(folder).setup_command == command


def test_a_plugin_runs_in_its_own_environment_where_it_has_one(workshop):
    folder = PluginFolder.read(workshop / "plugins" / "echo_model")
    assert folder.python == sys.executable
    own = folder.path / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.touch()
    assert folder.python == str(own)

import json

from dify_plugin_host import PluginHost


def declare(make_plugin, provider, **manifest):
    folder = make_plugin("", plugins={"tools": ["p.yaml"]}, **manifest)
    tool = {"identity": {"name": "in_place"}, "parameters": []}
    (folder / "p.yaml").write_text(json.dumps({"identity": provider, "tools": ["t.yaml", tool]}))
    (folder / "t.yaml").write_text('{"identity": {"name": "in_a_file"}}')
    (found,) = PluginHost(folder).tool_providers
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

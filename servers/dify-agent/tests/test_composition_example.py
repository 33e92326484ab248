from pathlib import Path

from dify_agent.layers.dify_plugin import DifyPluginToolsLayerConfig
from dify_agent.protocol.schemas import RunComposition
from dify_agent.runtime.layer_providers import create_default_layer_providers
from dify_agent.runtime.runner import validate_composition


EXAMPLE = Path(__file__).parent / "fixtures" / "search_composition.txt"


def test_a_client_builds_a_composition_of_a_plugin_a_model_and_a_tool():
    """Source: docs/contracts/dify-agent.md, C39."""
    names: dict[str, object] = {}
    exec(compile(EXAMPLE.read_text(), EXAMPLE.name, "exec"), names)
    composition = names["composition"]
    assert isinstance(composition, RunComposition)
    assert [(layer.name, layer.type, layer.deps) for layer in composition.layers] == [
        ("plugin", "dify.plugin", {}),
        ("llm", "dify.plugin.llm", {"plugin": "plugin"}),
        ("tools", "dify.plugin.tools", {"plugin": "plugin"}),
    ]
    tools = composition.layers[2].config
    assert isinstance(tools, DifyPluginToolsLayerConfig)
    assert tools.tools[0].parameters[0].llm_description == "Search query"
    validate_composition(composition, create_default_layer_providers())

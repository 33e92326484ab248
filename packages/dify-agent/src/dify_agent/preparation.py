"""Preparing a tool's configuration on the side that knows its declarations, before a run is asked for.

Safe to import in a client: nothing that a server runs comes with it.

Source: docs/contracts/dify-agent.md, C1 to C4.
"""

from collections.abc import Iterable

from agent_tooling import llm_json_schema, merge_parameters

from .layers.dify_plugin import DifyPluginToolConfig, DifyPluginToolParameter


__all__ = ["prepare_tool_config"]


def prepare_tool_config(
    config: DifyPluginToolConfig,
    *,
    declared: Iterable[object] | None,
    runtime: Iterable[object] | None = None,
    portable: bool = False,
) -> DifyPluginToolConfig:
    """Return a copy of `config` with its parameters, and the schema that the model sees, from Dify's declarations.

    The copy shares nothing with the declarations.

    Args:
        config: The tool, its credentials and values; parameters and schema that it has are replaced.
        declared: The tool's declared parameters, mappings or objects with Dify's field names, such as the daemon's `management/tools` has them.
        runtime: What the plugin says of them at run time; each replaces the declared one of its name, or is appended.
        portable: Whether the schema is written in plain JSON schema only; off, its types are exactly Dify's own.

    Raises:
        DeclarationError: If a parameter is declared in a way that cannot be read.
        pydantic.ValidationError: If it has a form or a default that `DifyPluginToolParameter` does not know.
    """
    merged = merge_parameters(declared, runtime)
    prepared = {
        "parameters": [DifyPluginToolParameter.model_validate(each) for each in merged],
        "parameters_json_schema": llm_json_schema(merged, portable=portable),
    }
    return config.model_copy(deep=True, update=prepared)

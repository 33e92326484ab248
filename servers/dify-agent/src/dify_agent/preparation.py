"""Preparation of a tool's configuration, on the side that knows its declarations and before the request for a run.

Safe to import in a client: it loads nothing that only a server needs.

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
        config: The tool, its credentials and values; its parameters and schema are replaced.
        declared: The tool's declared parameters, mappings or objects with Dify's field names, as in the daemon's `management/tools`.
        runtime: The plugin's parameters at run time; each replaces the declared one of its name, or is appended.
        portable: Whether to write the schema in plain JSON Schema only; otherwise its types are exactly Dify's own.

    Raises:
        DeclarationError: If the declaration of a parameter cannot be read.
        pydantic.ValidationError: If it has a form or a default that `DifyPluginToolParameter` does not know.
    """
    merged = merge_parameters(declared, runtime)
    prepared = {
        "parameters": [DifyPluginToolParameter.model_validate(each) for each in merged],
        "parameters_json_schema": llm_json_schema(merged, portable=portable),
    }
    return config.model_copy(deep=True, update=prepared)

"""Tools of the API beside functions: those that the server runs, and the other kinds that a caller answers.

Each builder returns the API's own object, with the arguments that were given, and with its keys always in the same order.

Source: openai 3.54.0, `types/responses/` (`web_search_tool.py`, `file_search_tool.py`, `tool.py`, `custom_tool.py`, `namespace_tool.py`,
`tool_search_tool.py`), and https://platform.openai.com/docs/guides/tools, read 2026-11-22.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from stream_text import is_object

from ._errors import PayloadError, refused
from ._tools import function_tool, tool_name
from ._values import copy_json, is_blank, quote


type ContextSize = Literal["low", "medium", "high"]
type ImageFormat = Literal["png", "webp", "jpeg"]

_MOST_DOMAINS = 100  # of each kind
# The API's other names of a tool.
_OTHER_NAMES = {
    "web_search_preview": "web_search",
    "computer_use": "computer",
    "computer_use_preview": "computer",
}


def web_search_tool(
    *,
    context_size: ContextSize | None = None,
    allowed_domains: Sequence[str] = (),
    blocked_domains: Sequence[str] = (),
    user_location: Mapping[str, str] | None = None,
    external_web_access: bool | None = None,
) -> dict[str, Any]:
    """Build the tool with which the server searches the web.

    Args:
        context_size: How much of the results the model reads.
        allowed_domains: The only domains to search, such as `example.org`, up to 100; none for the whole web.
        blocked_domains: Domains to leave out, up to 100.
        user_location: Where the user is, such as `{"country": "JP"}`.
        external_web_access: False to search only pages that the server has stored.

    Raises:
        PayloadError: If there are more than 100 domains of a kind.
    """
    allowed, blocked = _listed(allowed_domains), _listed(blocked_domains)
    for domains in (allowed, blocked):
        if len(domains) > _MOST_DOMAINS:
            raise refused(
                "web_search_domains",
                f"must be at most {_MOST_DOMAINS} allowed and {_MOST_DOMAINS} blocked ones",
            )
    filters = _given(allowed_domains=allowed, blocked_domains=blocked)
    located = {"type": "approximate", **user_location} if user_location else None
    return _tool(
        "web_search",
        search_context_size=context_size,
        filters=filters,
        user_location=located,
        external_web_access=external_web_access,
    )


def file_search_tool(
    store_ids: Sequence[str],
    *,
    max_results: int | None = None,
    filters: Mapping[str, Any] | None = None,
    ranking_options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the tool with which the server searches vector stores.

    Args:
        store_ids: The ids of the stores, at least one.
        max_results: The maximum number of results of one search, from 1.
        filters: A condition on the attributes of the files.
        ranking_options: The ranker and the least score.

    Raises:
        PayloadError: If there is no store, or an argument is not JSON.
    """
    if not store_ids:
        raise refused("file_search_stores", "must name at least one vector store")
    return _tool(
        "file_search",
        vector_store_ids=_listed(store_ids),
        max_num_results=max_results,
        filters=filters,
        ranking_options=ranking_options,
    )


def code_interpreter_tool(
    *,
    container_id: str | None = None,
    memory_limit: Literal["1g", "4g", "16g", "64g"] | None = None,
    file_ids: Sequence[str] = (),
) -> dict[str, Any]:
    """Build the tool that runs Python at the server.

    Args:
        container_id: A container that exists; otherwise the server makes one.
        memory_limit: The memory of a container that the server makes.
        file_ids: Files to put into it.
    """
    made = {"type": "auto"} | _given(memory_limit=memory_limit, file_ids=_listed(file_ids))
    return _tool("code_interpreter", container=container_id or made)


def image_generation_tool(  # noqa: PLR0913  one keyword for each field of the API
    *,
    model: str | None = None,
    size: str | None = None,
    quality: Literal["low", "medium", "high", "xhigh", "max", "auto"] | None = None,
    output_format: ImageFormat | None = None,
    output_compression: int | None = None,
    background: Literal["transparent", "opaque", "auto"] | None = None,
    partial_images: int | None = None,
) -> dict[str, Any]:
    """Build the tool that draws images at the server; the server chooses whatever is not given.

    Args:
        model: The image model.
        size: Width and height in pixels, such as `1024x1024`.
        quality: How fine it is drawn.
        output_format: The format of the image; `jpeg` is several times smaller than `png`.
        output_compression: The quality of the compression in percent, 0 to 100, for `webp` and `jpeg`.
        background: The background of the image.
        partial_images: How many previews are streamed, 0 to 3.
    """
    return _tool(
        "image_generation",
        model=model,
        size=size,
        quality=quality,
        output_format=output_format,
        output_compression=output_compression,
        background=background,
        partial_images=partial_images,
    )


def mcp_tool(  # noqa: PLR0913  one keyword for each field of the API
    label: str,
    *,
    url: str | None = None,
    connector_id: str | None = None,
    tunnel_id: str | None = None,
    authorization: str | None = None,
    allowed_tools: Sequence[str] | Mapping[str, Any] | None = None,
    require_approval: Literal["always", "never"] | Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    description: str | None = None,
) -> dict[str, Any]:
    """Build the tools of an MCP server, which the API's server calls.

    Args:
        label: A name for the server, which its calls carry.
        url: The server's address; or one of the next two.
        connector_id: One of the API's own connectors.
        tunnel_id: The tunnel to a private server.
        authorization: A token for the server. The API neither stores nor repeats it, so it is in every request.
        allowed_tools: The tools that the model may see; all by default.
        require_approval: `always`, `never`, or which tools each; by default every call needs approval.
        headers: Headers for the server.
        description: What the server is for.

    Raises:
        PayloadError: If the label is blank, if not exactly one of the three addresses is given, or if an argument is not JSON.
    """
    if is_blank(label):
        raise PayloadError("mcp_servers: each server needs a server_label", field="mcp_servers")
    if sum(not is_blank(place) for place in (url, connector_id, tunnel_id)) != 1:
        raise PayloadError(
            f"mcp_servers: {quote(label)!r} needs one of server_url, connector_id and tunnel_id",
            field="mcp_servers",
        )
    return _tool(
        "mcp",
        server_label=label,
        server_url=url,
        connector_id=connector_id,
        tunnel_id=tunnel_id,
        server_description=description,
        headers=headers,
        allowed_tools=allowed_tools,
        require_approval=require_approval,
        authorization=authorization,
    )


def custom_tool(
    name: str,
    description: str = "",
    *,
    grammar: str | None = None,
    syntax: Literal["lark", "regex"] = "lark",
) -> dict[str, Any]:
    """Build a tool whose input is free text, which the caller runs.

    Args:
        name: The tool's name.
        description: What it is for.
        grammar: The grammar that its input must match; by default any text.
        syntax: The language of `grammar`.

    Raises:
        PayloadError: If the API does not take the name.
    """
    rules = {"type": "grammar", "syntax": syntax, "definition": grammar} if grammar else None
    return _tool("custom", name=tool_name(name), description=description or None, format=rules)


def namespace_tool(name: str, description: str, tools: Iterable[object]) -> dict[str, Any]:
    """Build a group of functions and custom tools under one name.

    Args:
        name: The group's name; calls carry it as `namespace`.
        description: What the group is for.
        tools: Tools of these two kinds, in any form that `build_request` takes.

    Raises:
        PayloadError: If the API does not take the name or one of the tools.
    """
    grouped = [read_tool(tool) for tool in tools]
    return _tool("namespace", name=tool_name(name), description=description, tools=grouped)


def tool_search_tool(
    *, description: str | None = None, parameters: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Build the tool with which the model loads tools that are marked with `defer_loading`.

    Args:
        description: What can be found, if the caller does the search; None for a search by the server.
        parameters: A JSON schema of the arguments of the caller's search.

    Raises:
        PayloadError: If there are parameters and no description, which the API refuses, or they are not JSON.
    """
    if parameters is not None and is_blank(description):
        raise PayloadError("a tool_search of the caller needs a description", field="tools")
    execution = None if is_blank(description) else "client"
    return _tool("tool_search", execution=execution, description=description, parameters=parameters)


def read_tool(tool: object) -> dict[str, Any]:
    """Return a tool as the API takes it: a copy of one of its own objects, or the function tool for a declaration.

    Raises:
        PayloadError: If it is neither.
    """
    return copy_json(tool, field="tools") if _is_api_tool(tool) else function_tool(tool)


def tool_kind(tool: Mapping[str, Any]) -> str:
    """Return the type of a tool without the date of its version: `web_search` for `web_search_2025_08_26`."""
    kind: str = tool["type"]
    return kind.partition("_20")[0]


def plain_kind(tool: Mapping[str, Any]) -> str:
    """Return the type of a tool without a date, and under the newest of its names."""
    kind = tool_kind(tool)
    return _OTHER_NAMES.get(kind, kind)


def _is_api_tool(tool: object) -> bool:
    """Return whether a tool is an object of the API of another type than `function`."""
    kind = tool.get("type") if is_object(tool) else None
    return isinstance(kind, str) and kind != "function"


def _tool(kind: str, **fields: object) -> dict[str, Any]:
    return copy_json({"type": kind, **_given(**fields)}, field="tools")


def _listed(texts: Sequence[str]) -> list[str]:
    """Return texts as a list; a single text counts as a list of one."""
    return [texts] if isinstance(texts, str) else list(texts)


def _given(**fields: object) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, [], {})}

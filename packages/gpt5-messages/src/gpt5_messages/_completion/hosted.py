"""The calls of tools that the server runs by itself, and its requests for approval.

Source: docs/evidence/responses-api.md, R33 and R35.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpt5_messages._json import count, iter_mappings, mapping, text_at, text_or_none, type_of
from gpt5_messages._kinds import CALL_ARGUMENTS, KINDS
from gpt5_messages._media import seen_type
from stream_text import MOST_COUNTED, is_list


type _Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedCall:
    """One call of a tool that the server runs: for a log, not for an answer.

    Attributes:
        type: The type of its item, such as `web_search_call`.
        item_id: The id of its item.
        name: The tool's name; for a tool of an MCP server `label.name`.
        status: `completed`, `failed`, `incomplete`, or another word of the server.
        input: The input of the tool: queries, code, arguments.
        output: Its output: addresses, logs, a result; empty if the server does not say.
        error: Why it failed.
    """

    type: str
    item_id: str
    name: str
    status: str
    input: str = ""
    output: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedImage:
    """An image that the server has drawn.

    Attributes:
        data: The image as base64, which is four characters for three bytes.
        format: `png`, `jpeg`, `webp`, `gif` or `svg`; if the server does not say, by its first bytes, or else `png`.
        size: Width and height in pixels, such as `1024x1024`; empty if the server does not say.
        prompt: The prompt that it was drawn from.
        item_id: The id of its item.
    """

    data: str
    format: str
    size: str = ""
    prompt: str = ""
    item_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """A call of an MCP server's tool that waits for approval."""

    item_id: str
    server_label: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUsage:
    """The usage of the server's tools that is billed besides tokens, each a number from 0 up.

    Attributes:
        web_searches: Billed searches: those that the server counts, or else the calls that searched.
        file_searches: Completed searches of vector stores.
        containers: Containers in which code ran.
        image_input_text_tokens: Tokens of text that the image model read.
        image_input_image_tokens: Tokens of images that the image model read.
        image_output_tokens: Tokens of images that the image model drew.
    """

    web_searches: int = 0
    file_searches: int = 0
    containers: int = 0
    image_input_text_tokens: int = 0
    image_input_image_tokens: int = 0
    image_output_tokens: int = 0


def read_tool_usage(body: Mapping[str, Any], items: Iterable[_Item]) -> ToolUsage:
    """Read the usage of tools in a response, and count from its items what it does not say."""
    reported = mapping(body.get("tool_usage"))
    told = mapping(reported.get("web_search")).get("num_requests")
    image = mapping(reported.get("image_gen"))
    given = mapping(image.get("input_tokens_details"))
    done = [item for item in items if _status(item) == "completed"]
    web = [item for item in done if type_of(item) == "web_search_call"]
    counted = sum(type_of(mapping(item.get("action"))) == "search" for item in web)
    containers = {text_or_none(item.get("container_id")) for item in done} - {None, ""}
    return ToolUsage(
        # A server that says 0 has billed none; only where it says no number are the calls counted.
        web_searches=told if type(told) is int and 0 <= told <= MOST_COUNTED else counted,
        file_searches=sum(type_of(item) == "file_search_call" for item in done),
        containers=len(containers),
        image_input_text_tokens=count(given, "text_tokens")
        or max(count(image, "input_tokens") - count(given, "image_tokens"), 0),
        image_input_image_tokens=count(given, "image_tokens"),
        image_output_tokens=count(image, "output_tokens"),
    )


def iter_hosted_calls(items: Iterable[_Item]) -> Iterator[HostedCall]:
    """Yield the calls of the server's tools, in order; an output that is an item of its own goes with its call."""
    held = list(items)
    # Backwards, so that of several outputs with one id the first counts.
    outputs = {
        (_OUTPUTS[type_of(item)], text_or_none(item.get("call_id"))): item
        for item in reversed(held)
        if type_of(item) in _OUTPUTS
    }
    for item in held:
        kind = type_of(item)
        if kind not in _READERS and (not kind.endswith("_call") or kind in CALL_ARGUMENTS):
            continue
        name, given, came = _READERS.get(kind, _read_any)(item)
        output = outputs.get((kind, text_or_none(item.get("call_id"))), {})
        yield HostedCall(
            type=kind,
            item_id=text_at(item, "id"),
            name=name,
            status=_status(item),
            input=given,
            output=came or _output_text(output),
            error=_error(item),
        )


def iter_images(items: Iterable[_Item]) -> Iterator[GeneratedImage]:
    """Yield the images that are whole."""
    for item in items:
        data = item.get("result")
        if type_of(item) == "image_generation_call" and isinstance(data, str) and data:
            yield GeneratedImage(
                data=data,
                format=text_or_none(item.get("output_format")) or _format(data),
                size=text_at(item, "size"),
                prompt=text_at(item, "revised_prompt"),
                item_id=text_at(item, "id"),
            )


def iter_approval_requests(items: Iterable[_Item]) -> Iterator[ApprovalRequest]:
    """Yield the calls that wait for approval."""
    for item in items:
        if type_of(item) == "mcp_approval_request":
            yield ApprovalRequest(
                item_id=text_at(item, "id"),
                server_label=text_at(item, "server_label"),
                name=text_at(item, "name"),
                arguments=text_at(item, "arguments"),
            )


def _status(item: _Item) -> str:
    """Return the state of a call; some tools have none, and Azure calls a whole image `generating`."""
    status = text_at(item, "status")
    if type_of(item) == "image_generation_call" and item.get("result") and status != "failed":
        return "completed"
    return status or ("failed" if item.get("error") else "completed")


def _error(item: _Item) -> str:
    error = item.get("error")
    return text_or_none(error) or text_or_none(mapping(error).get("message")) or _written(error)


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if value else ""


def _lines(values: Iterable[object]) -> str:
    return "\n".join(value for value in values if isinstance(value, str) and value)


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if is_list(value) else []


def _read_web_search(item: _Item) -> tuple[str, str, str]:
    action = mapping(item.get("action"))
    queries = _texts(action.get("queries")) or [action.get("query")]
    asked = _lines([*queries, action.get("url"), action.get("pattern")])
    sources = (
        source.get("url", source.get("name")) for source in iter_mappings(action.get("sources"))
    )
    return "web_search", asked, _lines(sources)


def _read_file_search(item: _Item) -> tuple[str, str, str]:
    found = (result.get("filename") for result in iter_mappings(item.get("results")))
    return "file_search", _lines(_texts(item.get("queries"))), _lines(found)


def _read_code(item: _Item) -> tuple[str, str, str]:
    outputs = iter_mappings(item.get("outputs"))
    results = (output.get("logs") or output.get("url") for output in outputs)
    return "code_interpreter", text_at(item, "code"), _lines(results)


def _read_image(item: _Item) -> tuple[str, str, str]:
    size = len(text_at(item, "result"))
    drawn = f"{text_at(item, 'size') or 'an image'}, {size} characters of base64" if size else ""
    return "image_generation", text_at(item, "revised_prompt"), drawn


def _read_mcp(item: _Item) -> tuple[str, str, str]:
    name = ".".join(filter(None, (text_at(item, "server_label"), text_at(item, "name"))))
    return name, text_at(item, "arguments"), text_at(item, "output")


def _read_mcp_list(item: _Item) -> tuple[str, str, str]:
    tools = (tool.get("name") for tool in iter_mappings(item.get("tools")))
    return text_at(item, "server_label"), "", _lines(tools)


def _read_program(item: _Item) -> tuple[str, str, str]:
    return "programmatic_tool_calling", text_at(item, "code"), ""


def _read_any(item: _Item) -> tuple[str, str, str]:
    given = next((item[key] for key in ("action", "operation", "arguments") if item.get(key)), None)
    return type_of(item).removesuffix("_call"), text_or_none(given) or _written(given), ""


def _output_text(output: _Item) -> str:
    if type_of(output) == "tool_search_output":
        return _lines(tool.get("name") for tool in iter_mappings(output.get("tools")))
    ran = iter_mappings(output.get("output"))
    streams = [stream for one in ran for stream in (one.get("stdout"), one.get("stderr"))]
    return _lines(streams) or text_at(output, "result")


_READERS: dict[str, Callable[[_Item], tuple[str, str, str]]] = {
    "web_search_call": _read_web_search,
    "file_search_call": _read_file_search,
    "code_interpreter_call": _read_code,
    "image_generation_call": _read_image,
    "mcp_call": _read_mcp,
    "mcp_list_tools": _read_mcp_list,
    "program": _read_program,
}
_OUTPUTS = {kind.output: name for name, kind in KINDS.items() if kind.output}


def _format(data: str) -> str:
    return seen_type(data).partition("/")[2] or "png"

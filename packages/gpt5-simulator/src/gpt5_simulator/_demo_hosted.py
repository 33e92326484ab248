"""How the demonstration model uses hosted tools: which it calls, what comes of it, and how it cites that."""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gpt5_simulator._demo_values import Values
from gpt5_simulator._hosted_results import HostedResults
from gpt5_simulator._images import build_picture, parse_size
from gpt5_simulator._json import Json, dump, is_array, is_object, object_at
from gpt5_simulator._request import ModelRequest, plain_type
from gpt5_simulator._turn import OutputItem


type Segment = str | tuple[str, Json]  # a text, or a text with what it cites

_CUES = {
    "web_search": {"search", "web", "internet", "online", "news", "latest"},
    "file_search": {"file", "files", "document", "documents"},
    "code_interpreter": {"code", "python", "compute", "plot", "chart"},
    "image_generation": {"image", "picture", "draw", "paint", "photo"},
    "shell": {"shell", "command", "terminal"},
    "apply_patch": {"patch"},
}
_WORD = re.compile(r"\w+")
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedCall:
    """A call of a hosted tool.

    Attributes:
        items: The output items that it makes.
        quote: What the answer says of it.
        is_open: Whether it waits for the client, so that there is no answer yet.
        is_first: Whether it comes before any reasoning, as lists of tools do.
    """

    items: tuple[OutputItem, ...]
    quote: tuple[Segment, ...] = ()
    is_open: bool = False
    is_first: bool = False


@dataclass(frozen=True, slots=True)
class HostedTools:
    """The hosted tools of one request, as the demonstration model uses them.

    Attributes:
        request: The request.
        question: What was asked since the last answer.
        results: What the tools find and make.
    """

    request: ModelRequest
    question: str
    results: HostedResults

    def calls(self, *, is_forced: bool) -> list[HostedCall]:
        """Return the calls that the question asks for, in the order of the tools.

        Args:
            is_forced: Whether some tool is to be called even if the question asks for none.
        """
        calls = [call for tool in self.request.hosted for call in self._calls_of(tool)]
        hosted = self.request.hosted
        if not is_forced or not hosted or any(call.quote or call.is_open for call in calls):
            return calls
        return [*calls, *self._calls_of(hosted[0], is_forced=True)]

    def _calls_of(self, tool: Json, *, is_forced: bool = False) -> list[HostedCall]:
        kind = plain_type(tool).removesuffix("_preview")
        if kind == "mcp":
            return list(self._mcp_calls(tool, is_forced=is_forced))
        builders: dict[str, Callable[[Json, list[Json]], HostedCall]] = {
            "web_search": self._web_search,
            "file_search": self._file_search,
            "code_interpreter": self._code,
            "image_generation": self._picture,
            "shell": self._shell,
            "apply_patch": self._patch,
        }
        rows = self.results.find(kind, self.question)
        is_meant = rows or _CUES.get(kind, set()) & self._words()
        if kind not in builders or not (is_meant or is_forced) or self._is_answered(kind):
            return []
        call = builders[kind](tool, rows)
        if not self._is_made(f"{kind}_call"):
            return [call]
        return [HostedCall(items=(), quote=call.quote)]

    def _words(self) -> set[str]:
        return set(_WORD.findall(self.question.lower()))

    def _since_question(self) -> Sequence[Json]:
        items = self.request.items
        asked = [index for index, item in enumerate(items) if item.get("role") == "user"]
        return items[asked[-1] if asked else 0 :]

    def _is_made(self, item_type: str) -> bool:
        """Return whether a call of this type was made since the question."""
        return any(item.get("type") == item_type for item in self._since_question())

    def _is_answered(self, kind: str) -> bool:
        """Return whether the client has answered a call of this tool since the question."""
        return any(item.get("type") == f"{kind}_call_output" for item in self._since_question())

    def _id(self, prefix: str, *parts: str) -> str:
        digest = hashlib.sha256("\n".join([self.question, *parts]).encode(errors="replace"))
        return f"{prefix}_{digest.hexdigest()[:48]}"

    def _asked(self) -> str:
        return self.question.strip()[:_LONGEST]

    def _web_search(self, tool: Json, rows: list[Json]) -> HostedCall:
        rows = [row for row in rows if _is_allowed(row, object_at(tool, "filters"))]
        items: list[OutputItem] = []
        for row in rows or [{}]:
            first: Json = {"type": "search", "query": self._asked(), "queries": [self._asked()]}
            first["sources"] = [{"type": "url", "url": url} for url in _urls(row)]
            actions = row.get("actions") or [first]
            items += [OutputItem(item={"type": "web_search_call", "action": a}) for a in actions]
        found = [segment for row in rows for segment in _cited_page(row)]
        return HostedCall(items=tuple(items), quote=("- web search: ", *(found or ["nothing"])))

    def _file_search(self, tool: Json, rows: list[Json]) -> HostedCall:
        del tool
        results: list[Json] = []
        quote: list[Segment] = ["- file search: "]
        for number, row in enumerate(rows):
            name = str(row.get("filename") or "notes.txt")
            file_id = str(row.get("file_id") or self._id("file", str(number)))
            text = str(row.get("text") or "")
            fields: Json = {"attributes": object_at(row, "attributes")}
            fields["score"] = row.get("score", 0.9)
            results.append(fields | {"file_id": file_id, "filename": name, "text": text})
            citation = {"type": "file_citation", "file_id": file_id, "filename": name}
            quote += [text, ("", citation)]
        item = {"type": "file_search_call", "queries": [self._asked()], "results": results}
        return HostedCall(items=(OutputItem(item=item),), quote=tuple(quote if rows else _NONE))

    def _code(self, tool: Json, rows: list[Json]) -> HostedCall:
        row = rows[0] if rows else {"code": f"print({self._asked()!r})", "logs": self._asked()}
        container: object = tool.get("container")
        made = container if isinstance(container, str) else self._id("cntr")
        logs = str(row.get("logs") or row.get("error") or "")
        item: Json = {"type": "code_interpreter_call", "code": str(row.get("code") or "")}
        item |= {"container_id": made, "outputs": [{"type": "logs", "logs": logs}]}
        if "error" in row:
            item["status"] = "failed"
        quote: list[Segment] = [f"- code interpreter: {logs.strip() or '(nothing)'}"]
        for name in object_at(row, "files"):
            citation = {"type": "container_file_citation", "container_id": made, "filename": name}
            citation["file_id"] = self._id("cfile", name)
            quote += [f" [{name}](", (f"sandbox:/mnt/data/{name}", citation), ")"]
        return HostedCall(items=(OutputItem(item=item),), quote=tuple(quote))

    def _picture(self, tool: Json, rows: list[Json]) -> HostedCall:
        row = rows[0] if rows else {}
        item: Json = {"type": "image_generation_call"}
        if "error" in row:
            error = row["error"] if is_object(row["error"]) else _image_error(str(row["error"]))
            item |= {"status": "failed", "error": error, "result": None}
            quote = f"- image generation: {error.get('message')}"
            return HostedCall(items=(OutputItem(item=item),), quote=(quote,))
        output_format = str(tool.get("output_format") or "png")
        size = parse_size(str(tool.get("size")))
        digest = hashlib.sha256(self.question.encode(errors="replace")).digest()
        colour = tuple(map(int, row.get("colour") or digest[:3]))
        picture = build_picture(output_format, size, (colour[0], colour[1], colour[2]))
        quality = tool.get("quality") or "auto"
        item |= {
            "background": "opaque",
            "output_format": output_format,
            "quality": "medium" if quality == "auto" else quality,
            "result": row.get("result") or base64.b64encode(picture).decode(),
            "revised_prompt": row.get("revised_prompt") or self._asked(),
            "size": f"{size[0]}x{size[1]}",
        }
        quote = f"- image generation: a picture of {size[0]} x {size[1]} pixels"
        return HostedCall(items=(OutputItem(item=item),), quote=(quote,))

    def _shell(self, tool: Json, rows: list[Json]) -> HostedCall:
        row = rows[0] if rows else {"commands": ["pwd"], "stdout": "/mnt/data\n"}
        call_id = self._id("call")[:29]
        action = {"commands": row.get("commands") or [], "timeout_ms": None}
        action["max_output_length"] = None
        call = OutputItem(item={"type": "shell_call", "call_id": call_id, "action": action})
        if object_at(tool, "environment").get("type", "local") == "local":
            return HostedCall(items=(call,), is_open=True)
        output: Json = {
            "stdout": str(row.get("stdout") or ""),
            "stderr": str(row.get("stderr") or ""),
            "outcome": {"type": "exit", "exit_code": row.get("exit_code", 0)},
        }
        answer = {"type": "shell_call_output", "call_id": call_id, "output": [output]}
        said = output["stdout"].strip() or output["stderr"].strip() or "(nothing)"
        return HostedCall(items=(call, OutputItem(item=answer)), quote=(f"- shell: {said}",))

    def _patch(self, tool: Json, rows: list[Json]) -> HostedCall:
        del tool
        new = {"type": "create_file", "path": "notes.md", "diff": f"+{self._asked()}\n"}
        operation = rows[0].get("operation") if rows else new
        item = {"type": "apply_patch_call", "operation": operation}
        return HostedCall(items=(OutputItem(item=item),), is_open=True)

    def _mcp_calls(self, tool: Json, *, is_forced: bool) -> Iterator[HostedCall]:
        label = str(tool.get("server_label"))
        rows = [
            row
            for row in self.results.rows.get("mcp", ())
            if row.get("server_label", label) == label and _is_offered(row, tool)
        ]
        listed = any(
            item.get("type") == "mcp_list_tools" and item.get("server_label") == label
            for item in self.request.items
        )
        if not listed:
            tools = list({_tool_name(row): _listed_tool(row) for row in rows}.values())
            item = {"type": "mcp_list_tools", "server_label": label, "tools": tools}
            yield HostedCall(items=(OutputItem(item=item),), is_first=True)
        fitting = self.results.find("mcp", self.question)
        for row in [row for row in rows if row in fitting] or (rows[:1] if is_forced else ()):
            yield from self._mcp_call(row, tool)

    def _mcp_call(self, row: Json, tool: Json) -> Iterator[HostedCall]:
        name, label = _tool_name(row), str(tool.get("server_label"))
        head: Json = {"name": name, "server_label": label}
        schema = object_at(_listed_tool(row), "input_schema")
        found = Values(schema, part=self.question, text=self.question).fields(schema)
        head["arguments"] = dump(row.get("arguments") or found)
        if self._is_called(head):
            yield HostedCall(items=(), quote=_mcp_quote(name, row))
            return
        request_id, verdict = self._approval(head)
        if verdict is None and _needs_approval(tool, row):
            item = {"type": "mcp_approval_request"} | head
            yield HostedCall(items=(OutputItem(item=item),), is_open=True)
        elif verdict is False:
            yield HostedCall(items=(), quote=(f"- {name}: not approved",))
        else:
            call: Json = {"type": "mcp_call", "approval_request_id": request_id} | head
            if "error" in row:
                call |= {"status": "failed", "error": _mcp_error(row["error"])}
            else:
                call["output"] = str(row.get("output") or "")
            yield HostedCall(items=(OutputItem(item=call),), quote=_mcp_quote(name, row))

    def _is_called(self, head: Json) -> bool:
        return any(
            item.get("type") == "mcp_call" and all(item.get(key) == head[key] for key in head)
            for item in self._since_question()
        )

    def _approval(self, head: Json) -> tuple[str | None, bool | None]:
        """Return the id of the request to approve this call, and what was answered; None where nothing was."""
        answers = {
            item.get("approval_request_id"): item.get("approve") is True
            for item in self._since_question()
            if item.get("type") == "mcp_approval_response"
        }
        for item in self._since_question():
            is_request = item.get("type") == "mcp_approval_request"
            if is_request and all(item.get(key) == head[key] for key in head):
                return item.get("id"), answers.get(item.get("id"))
        return None, None


_NONE: tuple[Segment, ...] = ("- file search: nothing",)


def _urls(row: Json) -> list[str]:
    named = [row["url"]] if "url" in row else []
    return list(dict.fromkeys([*named, *map(str, row.get("sources") or ())]))


def _is_allowed(row: Json, filters: Json) -> bool:
    """Return whether a page may be found: a domain stands for its subdomains, too."""
    host = urlsplit(str(row.get("url"))).hostname or ""

    def is_within(domains: object) -> bool:
        named = map(str, domains if is_array(domains) else ())
        return any(host == domain or host.endswith(f".{domain}") for domain in named)

    allowed = filters.get("allowed_domains")
    return (not allowed or is_within(allowed)) and not is_within(filters.get("blocked_domains"))


def _cited_page(row: Json) -> list[Segment]:
    text, url = str(row.get("text") or ""), row.get("url")
    if url is None:
        return [text]
    citation = {"type": "url_citation", "url": url, "title": str(row.get("title") or url)}
    if row.get("link") is False:
        return [(text, citation)]
    return [f"{text} ", (f"([{urlsplit(str(url)).hostname}]({url}))", citation)]


def _image_error(message: str) -> Json:
    return {"code": "moderation_blocked", "message": message}


def _mcp_error(error: object) -> Json:
    """Return an error as a recorded call that failed has it."""
    if is_object(error):
        return error
    return {"type": "http_error", "code": 424, "message": str(error)}


def _mcp_quote(name: str, row: Json) -> tuple[Segment, ...]:
    said = row.get("output") if "error" not in row else f"failed: {row['error']}"
    return (f"- {name}: {said}",)


def _tool_name(row: Json) -> str:
    return str(object_at(row, "tool").get("name") or "tool")


def _listed_tool(row: Json) -> Json:
    """Return a tool as a server lists it."""
    schema: Json = {"type": "object", "properties": {}, "additionalProperties": False}
    usual: Json = {"annotations": {"read_only": False}, "description": "", "input_schema": schema}
    return usual | object_at(row, "tool") | {"name": _tool_name(row)}


def _is_offered(row: Json, tool: Json) -> bool:
    allowed: object = tool.get("allowed_tools")
    return allowed is None or _selects(allowed, row)


def _selects(chosen: object, row: Json) -> bool:
    """Return whether names, or a filter by name and by `read_only`, choose a tool."""
    if is_array(chosen):
        return _tool_name(row) in chosen
    if not is_object(chosen):
        return False
    names: object = chosen.get("tool_names")
    if is_array(names) and _tool_name(row) not in names:
        return False
    read_only = chosen.get("read_only")
    hint = object_at(_listed_tool(row), "annotations").get("read_only")
    return read_only is None or read_only == hint


def _needs_approval(tool: Json, row: Json) -> bool:
    """Return whether a call waits for approval; by default each does."""
    asked: object = tool.get("require_approval")
    if not is_object(asked):
        return asked != "never"
    never, always = asked.get("never"), asked.get("always")
    if never is not None and _selects(never, row):
        return False
    return always is None or _selects(always, row)


def annotate(segments: Sequence[Segment]) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Return segments as one text and its annotations, which say where in it they belong."""
    text = ""
    annotations: list[Json] = []
    for segment in segments:
        if isinstance(segment, str):
            text += segment
            continue
        cited, citation = segment
        start, text = len(text), text + cited
        if citation["type"] == "file_citation":
            annotations.append(citation | {"index": len(text)})
        else:
            annotations.append(citation | {"start_index": start, "end_index": len(text)})
    return text, tuple(annotations)

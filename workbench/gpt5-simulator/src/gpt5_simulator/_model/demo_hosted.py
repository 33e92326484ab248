"""The hosted tools of the demonstration model: web search and image generation.

The items of other tools come from the table as they go over the wire.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gpt5_simulator._json import Json, is_array, is_object, object_at, objects_in
from gpt5_simulator._model.hosted_results import HostedResults
from gpt5_simulator._model.images import build_picture, parse_size
from gpt5_simulator._model.turn import OutputItem
from gpt5_simulator._request import ModelRequest, plain_type


type Segment = str | tuple[str, Json]  # a text, or a text with what it cites

_CUES = {
    "web_search": {"search", "web", "internet", "online", "news", "latest"},
    "image_generation": {"image", "picture", "draw", "paint", "photo"},
}
_WORD = re.compile(r"\w+")
_LONGEST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedCall:
    """A call of a hosted tool.

    Attributes:
        items: The output items that it makes.
        quote: The words about it in the answer.
        is_open: Whether it waits for the client, so that there is no answer yet.
    """

    items: tuple[OutputItem, ...]
    quote: tuple[Segment, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class HostedTools:
    """The hosted tools of one request, as the demonstration model uses them.

    Attributes:
        request: The request.
        question: The user's words since the last answer.
        results: The results of the tools.
    """

    request: ModelRequest
    question: str
    results: HostedResults

    def calls(self, *, is_forced: bool) -> list[HostedCall]:
        """Return the calls that the question asks for, in the order of the tools.

        Args:
            is_forced: Whether to call a tool even if the question asks for none.
        """
        calls = [call for tool in self.request.hosted for call in self._calls_of(tool)]
        hosted = self.request.hosted
        if not is_forced or not hosted or any(call.quote or call.is_open for call in calls):
            return calls
        return [*calls, *self._calls_of(hosted[0], is_forced=True)]

    def _calls_of(self, tool: Json, *, is_forced: bool = False) -> list[HostedCall]:
        kind = plain_type(tool).removesuffix("_preview")
        rows = self.results.find(kind, self.question)
        if kind not in _CUES:
            return [self._given_call(kind, row) for row in rows if _is_for(tool, row)]
        is_meant = rows or _CUES[kind] & set(_WORD.findall(self.question.lower()))
        if not (is_meant or is_forced):
            return []
        is_search = kind == "web_search"
        call = self._web_search(tool, rows) if is_search else self._picture(tool, rows)
        # The question may be asked again with the results of the client's tools: it is made only once.
        if self._is_made(f"{kind}_call"):
            return [HostedCall(items=(), quote=call.quote)]
        return [call]

    def _is_made(self, item_type: str) -> bool:
        """Return whether an item of this type was made since the question."""
        items = self.request.items
        asked = [index for index, item in enumerate(items) if item.get("role") == "user"]
        since = items[asked[-1] if asked else 0 :]
        return any(item.get("type") == item_type for item in since)

    def _given_call(self, kind: str, row: Json) -> HostedCall:
        """Return a call that the table spells out; without a text it waits for the client."""
        items = objects_in(row.get("items"))
        quote = (f"- {kind}: {row['text']}",) if "text" in row else ()
        if items and self._is_made(items[0]["type"]):
            return HostedCall(items=(), quote=quote)
        made = tuple(OutputItem(item=item) for item in items)
        return HostedCall(items=made, quote=quote, is_open=not quote)

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

    def _picture(self, tool: Json, rows: list[Json]) -> HostedCall:
        row = rows[0] if rows else {}
        item: Json = {"type": "image_generation_call"}
        if "error" in row:
            blocked: Json = {"code": "moderation_blocked", "message": str(row["error"])}
            error = row["error"] if is_object(row["error"]) else blocked
            item |= {"status": "failed", "error": error, "result": None}
            quote = f"- image generation: {error.get('message')}"
            return HostedCall(items=(OutputItem(item=item),), quote=(quote,))
        output_format = str(tool.get("output_format") or "png")
        size = parse_size(str(tool.get("size")))
        # The same question gets the same colour, and another one most likely another.
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


def _is_for(tool: Json, row: Json) -> bool:
    """Return whether a row belongs to this tool and not to another MCP server."""
    label = tool.get("server_label")
    return all(item.get("server_label", label) == label for item in objects_in(row.get("items")))


def _urls(row: Json) -> list[str]:
    named = [row["url"]] if "url" in row else []
    return list(dict.fromkeys([*named, *map(str, row.get("sources") or ())]))


def _is_allowed(row: Json, filters: Json) -> bool:
    """Return whether a page may be found; a domain includes its subdomains."""
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


def annotate(segments: Sequence[Segment]) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Return segments as one text, with annotations that have their places in it."""
    text = ""
    annotations: list[Json] = []
    for segment in segments:
        if isinstance(segment, str):
            text += segment
            continue
        cited, citation = segment
        start, text = len(text), text + cited
        annotations.append(citation | {"start_index": start, "end_index": len(text)})
    return text, tuple(annotations)

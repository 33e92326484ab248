"""The sources that an answer cites, and the files that belong to it.

Source: docs/evidence/responses-api.md, R34.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gpt5_messages._json import count, iter_mappings, iter_parts, text_at, text_or_none, type_of


type CitationType = Literal["url_citation", "file_citation", "container_file_citation", "file_path"]

_TYPES: dict[str, CitationType] = {kind: kind for kind in get_args(CitationType.__value__)}
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\[\]]+")
_AFTER_ADDRESS = ").,;:!?*_"  # may belong to the text around an address, or to the address
_MOST_AFTER = 8  # so that a row of dots does not make as many addresses
_OPENAI_MARK = re.compile(r"[?&]utm_source=openai$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place in an answer that has a source, or that mentions a file.

    Attributes:
        type: The API's own word for the kind of citation.
        text: The text of the part that it is in.
        start: Where it begins in `text`, in Unicode characters; the citation of a file has only this.
        end: Where it ends; the same as `start` if the server does not say.
        url: The address of a web page.
        title: The title of the page.
        file_id: The id of a file.
        filename: The name of the file.
        container_id: The container that the file is in.
    """

    type: CitationType
    text: str
    start: int = 0
    end: int = 0
    url: str | None = None
    title: str | None = None
    file_id: str | None = None
    filename: str | None = None
    container_id: str | None = None

    @property
    def cited_text(self) -> str:
        """The words that it spans, brackets included."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A web page that an answer names."""

    title: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeFile:
    """A file that code has made at the server; it can be fetched from its container as long as that exists."""

    file_id: str
    container_id: str
    filename: str


def iter_citations(items: Iterable[Mapping[str, Any]]) -> Iterator[Citation]:
    """Yield the citations of all messages, in order; those of an unknown type are left out."""
    for part in iter_parts(items, "message", "content"):
        for annotation in iter_mappings(part.get("annotations")):
            if (citation := _citation(annotation, part)) is not None:
                yield citation


def _citation(annotation: Mapping[str, Any], part: Mapping[str, Any]) -> Citation | None:
    kind = _TYPES.get(type_of(annotation))
    if kind is None:
        return None
    text = text_at(part, "text")
    start = count(annotation, "start_index", "index")
    # Within the text, whatever the server says: `cited_text` is cut out by these.
    return Citation(
        type=kind,
        text=text,
        start=min(start, len(text)),
        end=min(max(count(annotation, "end_index"), start), len(text)),
        url=text_or_none(annotation.get("url")),
        title=text_or_none(annotation.get("title")),
        file_id=text_or_none(annotation.get("file_id")),
        filename=text_or_none(annotation.get("filename")),
        container_id=text_or_none(annotation.get("container_id")),
    )


def unlinked_sources(citations: Iterable[Citation], text: str) -> tuple[Source, ...]:
    """Return the web pages that are cited without their address in the text, each once, in order.

    Args:
        citations: The citations of an answer.
        text: The whole answer.
    """
    linked = set(_iter_addresses(text))
    found: dict[str, Source] = {}
    for citation in citations:
        url = citation.url or ""
        if url.startswith(("http://", "https://")) and _plain(url) not in linked:
            title = (citation.title or "").strip() or _host(url)
            found.setdefault(_plain(url), Source(title=title, url=url))
    return tuple(found.values())


def iter_made_files(citations: Iterable[Citation]) -> Iterator[MadeFile]:
    """Yield the files that code has made, each once, in order."""
    seen: set[tuple[str, str]] = set()
    for citation in citations:
        file_id, container_id = citation.file_id, citation.container_id
        if file_id and container_id and (container_id, file_id) not in seen:
            seen.add((container_id, file_id))
            name = citation.filename or file_id
            yield MadeFile(file_id=file_id, container_id=container_id, filename=name)


def _iter_addresses(text: str) -> Iterator[str]:
    """Yield the addresses in a text, each with and without the punctuation behind it."""
    for match in _ADDRESS.finditer(text):
        address = match[0]
        yield _plain(address)
        for _ in range(_MOST_AFTER):
            if address[-1] not in _AFTER_ADDRESS:
                break
            address = address[:-1]
            yield _plain(address)


def _plain(url: str) -> str:
    """Return an address without the mark that tells pages that OpenAI sent a reader."""
    return _OPENAI_MARK.sub("", url)


def _host(url: str) -> str:
    return re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0] or url

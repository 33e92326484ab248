"""What of a conversation's files a model gets: those that it can read, and as many as one request carries.

Source: docs/contracts/dify-agent.md, C51 and C52.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, cast

from stream_text import render_omission

from ._content import ContentPart, FileKind, text_part


type _Prompt = dict[str, object]

MOST_PROMPT_BYTES = 5 * 1024 * 1024 - 256 * 1024
"""How large the messages of a request may be as JSON; the rest of 5 MiB is for tools, parameters and credentials."""

_TOO_MUCH: Final = "with the later files it is more than one request carries"

FEATURES: Final[Mapping[FileKind, str]] = MappingProxyType(
    {"image": "vision", "document": "document", "audio": "audio", "video": "video"}
)
"""What Dify calls the ability to read each kind of file."""


def has_files(prompts: Sequence[_Prompt]) -> bool:
    """Tell whether there is a file in any message."""
    return any(True for prompt in prompts for _ in _files(prompt))


def replace_unreadable(
    prompts: Sequence[_Prompt], features: Collection[str], *, model_name: str
) -> list[_Prompt]:
    """Return the messages with a sentence in the place of each file that the model has no feature for."""

    def replaced(part: ContentPart) -> ContentPart:
        kind = part["type"]
        if kind not in FEATURES or FEATURES[cast("FileKind", kind)] in features:
            return part
        return _omission(part, f"the model {model_name} reads no {kind} files")

    return [_with_parts(prompt, [replaced(part) for part in _parts(prompt)]) for prompt in prompts]


def fit_files(prompts: Sequence[_Prompt]) -> list[_Prompt]:
    """Return the messages with sentences in the place of the oldest files, so that they fit; the newest file always stays.

    The conversation is gone through from its beginning, and where it passes the bound its earlier messages are brought to half of it. So
    what was replaced stays replaced as the conversation grows, and from there on each request begins with the one before, until the bound
    is passed again.
    """
    fitting = _Fitting()
    for prompt in prompts:
        fitting.add(prompt)
    return fitting.prompts


@dataclass(slots=True, kw_only=True)
class _Fitting:
    """The messages so far, and the files in them that are still whole, oldest first."""

    prompts: list[_Prompt] = field(default_factory=list[_Prompt])
    _held: list[tuple[list[ContentPart], int, int]] = field(
        default_factory=list[tuple[list[ContentPart], int, int]]
    )
    _size: int = 0

    def add(self, prompt: _Prompt) -> None:
        parts = list(_parts(prompt))
        self.prompts.append(_with_parts(prompt, parts))
        sizes = [len(str(part.get("base64_data", ""))) for part in parts]
        earlier = len(self._held)
        self._held += [(parts, place, size) for place, size in enumerate(sizes) if size]
        bare = _with_parts(prompt, [{**part, "base64_data": ""} for part in parts])
        self._size += len(json.dumps(bare)) + sum(sizes)
        if self._size > MOST_PROMPT_BYTES:
            self._make_room(earlier)

    def _make_room(self, earlier: int) -> None:
        """Replace files: of the first `earlier` more than needed, so that it lasts, of the others as few as possible."""
        for _ in range(len(self._held) - 1):
            bound = MOST_PROMPT_BYTES // 2 if earlier > 0 else MOST_PROMPT_BYTES
            if self._size > bound:
                parts, place, size = self._held.pop(0)
                parts[place] = _omission(parts[place], _TOO_MUCH)
                self._size -= size
            earlier -= 1


def _parts(prompt: Mapping[str, object]) -> list[ContentPart]:
    content = prompt["content"]
    return cast("list[ContentPart]", content) if isinstance(content, list) else []


def _files(prompt: Mapping[str, object]) -> Iterator[ContentPart]:
    return (part for part in _parts(prompt) if part["type"] in FEATURES)


def _with_parts(prompt: _Prompt, parts: list[ContentPart]) -> _Prompt:
    """Return the message with other parts; one whose content is text stays as it is."""
    return {**prompt, "content": parts} if isinstance(prompt["content"], list) else prompt


def _omission(part: ContentPart, reason: str) -> ContentPart:
    name = str(part.get("filename") or "")
    return text_part(render_omission(str(part["type"]), reason=reason, name=name))

"""Selection of a conversation's files for a model: those that it can read, and as many as one request carries.

Source: docs/contracts/dify-agent.md, C51 and C52.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from agent_tooling import FILE_FEATURES
from stream_text import RequestSize, is_list, render_omission

from ._content import ContentPart, text_part


type _Prompt = dict[str, object]

MOST_PROMPT_BYTES = 5 * 1024 * 1024 - 256 * 1024
"""The most bytes of a request's messages as JSON; the rest of 5 MiB is for tools, parameters and credentials."""


def has_files(prompts: Sequence[_Prompt]) -> bool:
    """Return whether any message holds a file."""
    return any(True for prompt in prompts for _ in _files(prompt))


def replace_unreadable(
    prompts: Sequence[_Prompt], features: Collection[str], *, model_name: str
) -> list[_Prompt]:
    """Return the messages with a sentence in place of each file that the model has no feature for."""

    def replaced(part: ContentPart) -> ContentPart:
        kind = str(part["type"])
        # None for a part that is not a file.
        if FILE_FEATURES.get(kind) in (None, *features):
            return part
        return _omission(part, f"the model {model_name} reads no {kind} files")

    return [_with_parts(prompt, [replaced(part) for part in _parts(prompt)]) for prompt in prompts]


def fit_files(prompts: Sequence[_Prompt]) -> list[_Prompt]:
    """Return the messages with sentences in place of the oldest files, so that they fit; the newest file always stays.

    The conversation is read from its beginning, so that a file that was replaced stays replaced as the conversation grows.
    """
    fitted, _ = RequestSize(MOST_PROMPT_BYTES, omit=_omission).fit(prompts)
    return fitted


def _parts(prompt: Mapping[str, object]) -> list[ContentPart]:
    content = prompt["content"]
    return [*content] if is_list(content) else []


def _files(prompt: Mapping[str, object]) -> Iterator[ContentPart]:
    return (part for part in _parts(prompt) if part["type"] in FILE_FEATURES)


def _with_parts(prompt: _Prompt, parts: list[ContentPart]) -> _Prompt:
    """Return the message with other parts; one whose content is text stays as it is."""
    return {**prompt, "content": parts} if isinstance(prompt["content"], list) else prompt


def _omission(part: ContentPart, reason: str) -> ContentPart:
    name = str(part.get("filename") or "")
    return text_part(render_omission(str(part["type"]), reason=reason, name=name))

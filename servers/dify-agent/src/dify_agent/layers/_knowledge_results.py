"""What Dify finds in knowledge, and how a model reads it."""

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, Field, ValidationError

from dify_agent._inner_api import InnerApiError
from dify_agent.plugin_daemon_transport import PROTOCOL_ERROR_TYPE


NO_RESULTS: Final = "Nothing relevant was found in the knowledge base."
"""The text for a search that has found nothing."""


class _Metadata(BaseModel):
    dataset_name: str | None = None
    document_name: str | None = None
    score: float | str | None = None


class _Found(BaseModel):
    title: str | None = None
    content: str | None = None
    summary: str | None = None
    metadata: _Metadata = Field(default_factory=_Metadata)


class _Reply(BaseModel):
    results: list[_Found]


def render_results(reply: object, *, most_of_each: int, most: int) -> str:
    """Return the reply to a search as a text for the model.

    Args:
        reply: Dify's reply.
        most_of_each: The most characters of a result's content.
        most: The most characters of the text.

    Raises:
        InnerApiError: If it is no such reply.
    """
    try:
        results = _Reply.model_validate(reply).results
    except ValidationError:
        # Its text would quote the reply.
        raise InnerApiError(
            "Dify's API answered without the results of a search.", error_type=PROTOCOL_ERROR_TYPE
        ) from None
    if not results:
        return NO_RESULTS
    rendered = (
        f"{number}. " + "\n   ".join(_lines(found, most_of_each))
        for number, found in enumerate(results, start=1)
    )
    return _cut("\n\n".join(rendered), most)


def _lines(found: _Found, most: int) -> Iterator[str]:
    about = found.metadata
    yield found.title or about.document_name or "Untitled"
    if about.dataset_name:
        yield f"Dataset: {about.dataset_name}"
    if about.document_name:
        yield f"Document: {about.document_name}"
    if about.score is not None:
        yield f"Score: {about.score}"
    if content := found.content or found.summary:
        yield f"Content: {_cut(content, most)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

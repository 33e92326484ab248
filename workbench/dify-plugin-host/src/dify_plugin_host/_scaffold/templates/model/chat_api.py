"""A client of OpenAI's chat completions, which many servers offer.

Source: https://platform.openai.com/docs/api-reference/chat
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx
from dify_plugin.errors.model import (
    InvokeAuthorizationError,
    InvokeBadRequestError,
    InvokeConnectionError,
    InvokeError,
    InvokeRateLimitError,
    InvokeServerUnavailableError,
)
from pydantic import BaseModel, Field, ValidationError


# To connect, and between two pieces of an answer.
_TIMEOUT = httpx.Timeout(120, connect=10)
_STATUSES: Mapping[int, type[InvokeError]] = {
    401: InvokeAuthorizationError,
    403: InvokeAuthorizationError,
    429: InvokeRateLimitError,
}
_SERVER_ERROR = 500
_SHOWN = 300  # characters of an answer that is not understood


class Delta(BaseModel):
    """What a piece adds to the answer."""

    content: str | None = None


class Choice(BaseModel):
    """A continuation of the answer."""

    delta: Delta = Field(default_factory=Delta)
    finish_reason: str | None = None


class Usage(BaseModel):
    """The tokens of a call."""

    prompt_tokens: int
    completion_tokens: int


class Piece(BaseModel):
    """A piece of a streamed answer, or the error that ends it."""

    choices: list[Choice] = Field(default_factory=list[Choice])
    usage: Usage | None = None
    error: Any = None

    @property
    def text(self) -> str:
        """The text that it adds."""
        return "".join(choice.delta.content or "" for choice in self.choices)

    @property
    def finish_reason(self) -> str | None:
        """Why the answer ends; None while it goes on."""
        return next((choice.finish_reason for choice in self.choices), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatApi:
    """A server, with the key to it.

    Attributes:
        base_url: The address of the API, without a slash at its end.
        headers: What each request is sent with.
    """

    base_url: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, credentials: Mapping[str, Any]) -> Self:
        """Return the server that a provider's credentials name.

        Raises:
            InvokeAuthorizationError: If the key has characters that no header takes, as when more than the key was copied.
        """
        base_url = str(credentials.get("base_url") or "https://api.openai.com/v1")
        key = str(credentials["api_key"]).strip()
        if not (key.isascii() and key.isprintable()):
            raise InvokeAuthorizationError("api_key: expected the key alone, of ASCII characters")
        headers = {"Authorization": f"Bearer {key}"}
        return cls(base_url=base_url.rstrip("/"), headers=headers)

    def list_models(self) -> None:
        """Ask for the list of models, which costs nothing and needs a valid key.

        Raises:
            InvokeError: If the server refuses.
        """
        try:
            response = httpx.get(f"{self.base_url}/models", headers=self.headers, timeout=_TIMEOUT)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InvokeConnectionError(f"{self.base_url}: {error}") from error
        _validate(response)

    def stream(self, body: Mapping[str, Any]) -> Generator[Piece]:
        """Ask a model, and yield its answer piece by piece.

        Raises:
            InvokeError: If the server refuses, breaks off, or sends something else.
        """
        body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        try:
            with httpx.stream(
                "POST",
                f"{self.base_url}/chat/completions",
                json=body,
                headers=self.headers,
                timeout=_TIMEOUT,
            ) as response:
                if response.is_error:
                    response.read()
                    _validate(response)
                for line in response.iter_lines():
                    data = line.removeprefix("data:").strip()
                    if data == "[DONE]":
                        return
                    if line.startswith("data:"):
                        yield _read(data)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise InvokeConnectionError(f"{self.base_url}: {error}") from error
        except ValidationError as error:
            raise InvokeServerUnavailableError(f"expected a piece of an answer: {error}") from error
        # A connection that is only closed is no error for HTTP.
        raise InvokeConnectionError(f"{self.base_url}: the answer ended before it was complete")


def _read(data: str) -> Piece:
    """Read a piece.

    Raises:
        InvokeServerUnavailableError: If the server has failed in the middle of its answer.
    """
    piece = Piece.model_validate_json(data)
    if piece.error:
        raise InvokeServerUnavailableError(str(piece.error)[:_SHOWN])
    return piece


def _validate(response: httpx.Response) -> None:
    """Validate that a server has not refused a request.

    Raises:
        InvokeError: If it has, with its own words; of the class by which Dify knows the reason.
    """
    if response.is_success:
        return
    kind = _STATUSES.get(response.status_code, InvokeBadRequestError)
    if response.status_code >= _SERVER_ERROR:
        kind = InvokeServerUnavailableError
    raise kind(f"{response.status_code}: {response.text[:_SHOWN]}")

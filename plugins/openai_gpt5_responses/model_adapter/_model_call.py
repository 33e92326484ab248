"""One model call as Dify requests it, and the model behind its name."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dify_plugin.entities.model.message import PromptMessage, PromptMessageTool

from gpt5_responses import Connection
from stream_text import valid_tool_names

from ._parameters import wants_thoughts


# The form's default for Base Model: the model's name decides.
BY_NAME = "by-name"

# Dify ends calls after it, unless its daemon has another limit and names it.
_PLATFORM_SECONDS = 600.0


def read_connection(credentials: Mapping[str, Any]) -> Connection:
    """Return the connection to the server, with the key; its calls end before Dify's limit.

    Raises:
        SettingsError: If the credentials cannot be used.

    Source: docs/contracts/openai-gpt5-responses.md, A7.
    """
    return Connection.from_credentials(credentials, platform_seconds=_PLATFORM_SECONDS)


# Without slots, because `cached_property` needs a `__dict__`.
@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """The arguments of one model call, as the SDK passes them."""

    model: str
    credentials: Mapping[str, Any]
    messages: Sequence[PromptMessage] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tools: Sequence[PromptMessageTool] = ()
    stop: Sequence[str] = ()
    stream: bool = False
    user: str | None = None

    @cached_property
    def connection(self) -> Connection:
        """The connection to the server, with the key.

        Raises:
            SettingsError: If the credentials cannot be used.
        """
        return read_connection(self.credentials)

    @cached_property
    def sent_names(self) -> Mapping[str, str]:
        """The names under which the call's tools, and those in its messages, are sent, by Dify's. A blank name has none."""
        called = [one.function for message in self.messages for one in calls_of(message)]
        names = dict.fromkeys(one.name for one in (*self.tools, *called) if one.name.strip())
        return dict(zip(names, valid_tool_names(("", name) for name in names), strict=True))

    @cached_property
    def own_names(self) -> Mapping[str, str]:
        """Dify's names of the tools, by those that are sent."""
        return {sent: own for own, sent in self.sent_names.items()}

    @property
    def shows_thoughts(self) -> bool:
        """Whether the answer is shown with the model's thoughts. Dify reads an unstreamed answer by machine, so there they have to be asked for.

        Source: docs/contracts/openai-gpt5-responses.md, A31.
        """
        return self.stream or wants_thoughts(self.parameters)

    @property
    def base_model(self) -> str:
        """The model behind the name."""
        return base_model(self.model, self.credentials)

    @property
    def safety_identifier(self) -> str | None:
        """A stable digest of the user: 64 hexadecimal digits, or None without a user."""
        return hashlib.sha256(self.user.encode()).hexdigest() if self.user else None

    @property
    def owner(self) -> str:
        """A key of those who may get back the items of the response: the same user with the same model and credentials."""
        return f"{self.connection.fingerprint} {self.model} {self.safety_identifier}"

    @property
    def made_for(self) -> str:
        """A digest of the owner, who alone may use a compaction item of the response: 32 hexadecimal digits."""
        return hashlib.sha256(self.owner.encode()).hexdigest()[:32]


def calls_of(message: PromptMessage) -> list[Any]:
    """Return the tool calls of a message."""
    return getattr(message, "tool_calls", None) or []


def base_model(model: str, credentials: Mapping[str, object]) -> str:
    """Return the Base Model that the credentials name for a model, or the name itself."""
    chosen = credentials.get("base_model")
    return chosen if isinstance(chosen, str) and chosen.strip() not in ("", BY_NAME) else model

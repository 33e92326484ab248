"""What no error, log or event may show of a configuration: credentials, and what the model does not fill in.

Source: docs/contracts/dify-agent.md, C45.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from typing_extensions import TypeIs

from dify_agent._headers import iter_credential_headers
from stream_text import KnownSecrets, is_secret_setting

from .configs import DifyPluginToolParameterType


_SHORTEST_SECRET: Final = 4
_SHORTEST_CREDENTIAL: Final = 6
_SHORTEST_SPOKEN: Final = 8  # Shorter ones are words of every day, which a model says of itself.
_SHORTEST_HIDDEN: Final = 8  # The same.
_LONGEST: Final = 10_000  # As much as an error shows; longer ones would be slow to look for.
# Objects whose texts are names that everybody may read, such as media types and models.
_REFERENCES: Final = (
    DifyPluginToolParameterType.FILE,
    DifyPluginToolParameterType.FILES,
    DifyPluginToolParameterType.SYSTEM_FILES,
    DifyPluginToolParameterType.APP_SELECTOR,
    DifyPluginToolParameterType.MODEL_SELECTOR,
)


class ConfigSecrets:
    """The secrets in the configurations of layers or tools, which may not have been checked yet.

    These are all credentials, the values of parameters that are declared as secrets, and other values of 8 characters and more that
    the model does not fill in.

    Attributes:
        known: All of them.
        declared: Those that are secrets by their declaration or their name, which no model is to read.
        spoken: Those of them that are looked for in what a model says.
    """

    def __init__(self, configs: Iterable[Mapping[str, Any]]) -> None:
        configs = list(configs)
        # One for all, so that of two values, one of which begins the other, the longer one is found.
        self.known = KnownSecrets(_secrets(configs), shortest=_SHORTEST_SECRET)
        declared = list(_declared_secrets(configs))
        self.declared = KnownSecrets(declared)
        self.spoken = KnownSecrets(declared, shortest=_SHORTEST_SPOKEN)

    def redact(self, text: str) -> str:
        """Return the text with `[redacted]` in place of each secret."""
        return self.known.redact(text)


def _secrets(configs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for config in _with_tools(configs):
        for text in (*_texts(config.get("credentials")), *_header_secrets(config)):
            if len(text) >= _SHORTEST_CREDENTIAL:
                yield text
        for kind, value in _given(config):
            for text in _texts(value):
                if kind == DifyPluginToolParameterType.SECRET_INPUT:
                    yield text
                else:
                    yield from (line for line in text.splitlines() if len(line) >= _SHORTEST_HIDDEN)


def _declared_secrets(configs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for config in _with_tools(configs):
        credentials = config.get("credentials")
        for name, value in credentials.items() if _is_object(credentials) else ():
            if is_secret_setting(name, str(value)):
                yield from _texts(value)
        yield from _header_secrets(config)
        for kind, value in _given(config):
            if kind == DifyPluginToolParameterType.SECRET_INPUT:
                yield from _texts(value)


def _header_secrets(config: Mapping[str, Any]) -> Iterator[str]:
    credentials = config.get("credentials")
    if _is_object(credentials):
        yield from (text for text in iter_credential_headers(credentials) if len(text) <= _LONGEST)


def _with_tools(configs: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for config in configs:
        yield config
        yield from _mappings(config.get("tools"))


def _given(config: Mapping[str, Any]) -> Iterator[tuple[object, object]]:
    """Yield kind and value of each parameter that the model does not fill in, and the defaults of secrets."""
    kinds = {
        str(each.get("name")): each.get("type") for each in _mappings(config.get("parameters"))
    }
    values = config.get("runtime_parameters")
    for name, value in values.items() if _is_object(values) else ():
        if kinds.get(name) not in _REFERENCES:
            yield kinds.get(name), value
    for each in _mappings(config.get("parameters")):
        if each.get("type") == DifyPluginToolParameterType.SECRET_INPUT:
            yield each.get("type"), each.get("default")


def _texts(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a value."""
    if _is_object(value):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _texts(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) <= _LONGEST and (isinstance(value, str) or len(text) >= _SHORTEST_HIDDEN):
            yield text


def _mappings(value: object) -> list[Mapping[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if _is_object(item)]


def _is_object(value: object) -> TypeIs[Mapping[str, Any]]:
    return isinstance(value, Mapping)

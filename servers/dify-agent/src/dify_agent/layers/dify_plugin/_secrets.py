"""The texts of a configuration that no error, log or event may show: credentials, and values that the model does not fill in.

Source: docs/contracts/dify-agent.md, C45.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from dify_agent._headers import iter_credential_headers
from stream_text import KnownSecrets, is_list, is_object, is_secret_setting

from .configs import DifyPluginToolParameterType


_SHORTEST_SECRET: Final = 4
_SHORTEST_CREDENTIAL: Final = 6
_SHORTEST_SPOKEN: Final = 8  # Shorter ones are everyday words, which a model uses anyway.
_SHORTEST_HIDDEN: Final = 8  # The same.
_LONGEST: Final = 10_000  # As much as an error shows; longer ones would be slow to look for.
_SECRET: Final = DifyPluginToolParameterType.SECRET_INPUT
# Objects whose texts are names that everybody may read, such as those of media types and models.
_REFERENCES: Final = (
    DifyPluginToolParameterType.FILE,
    DifyPluginToolParameterType.FILES,
    DifyPluginToolParameterType.SYSTEM_FILES,
    DifyPluginToolParameterType.APP_SELECTOR,
    DifyPluginToolParameterType.MODEL_SELECTOR,
)


class ConfigSecrets:
    """The secrets in the configurations of layers or tools, which may not have been validated yet.

    These are all credentials, the values of parameters that are declared as secrets, and other values of 8 or more characters that
    the model does not fill in.

    Attributes:
        known: All of them.
        declared: Those that are secrets by their declaration or their name, which no model is to read.
        spoken: Those of `declared` that are looked for in a model's own text.
    """

    def __init__(self, configs: Iterable[Mapping[str, Any]]) -> None:
        known: list[str] = []
        declared: list[str] = []
        for config in _with_tools(configs):
            credentials = config.get("credentials")
            headers = list(_header_secrets(credentials))
            inputs, others = _given(config)
            known += [
                text
                for text in (*_texts(credentials), *headers)
                if len(text) >= _SHORTEST_CREDENTIAL
            ]
            known += [*inputs, *others]
            declared += [*_named_secrets(credentials), *headers, *inputs]
        # All in one: if one value is the beginning of another, the longer one has to be found.
        self.known = KnownSecrets(known, shortest=_SHORTEST_SECRET)
        self.declared = KnownSecrets(declared)
        self.spoken = KnownSecrets(declared, shortest=_SHORTEST_SPOKEN)


def _with_tools(configs: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for config in configs:
        yield config
        yield from _objects(config.get("tools"))
        # The tools of an external memory.
        yield from (_object(config.get(name)) for name in ("prepare", "observe"))


def _named_secrets(credentials: object) -> Iterator[str]:
    for name, value in _object(credentials).items():
        if is_secret_setting(name, str(value)):
            yield from _texts(value)


def _header_secrets(credentials: object) -> Iterator[str]:
    headers = iter_credential_headers(_object(credentials))
    return (text for text in headers if len(text) <= _LONGEST)


def _given(config: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the values that the model does not fill in: the texts that are declared as secrets, with their defaults, and the lines of others."""
    parameters = _objects(config.get("parameters"))
    kinds = {str(each.get("name")): each.get("type") for each in parameters}
    values = _object(config.get("runtime_parameters"))
    given = [(kinds.get(name), value) for name, value in values.items()]
    secrets = [value for kind, value in given if kind == _SECRET]
    secrets += [each.get("default") for each in parameters if each.get("type") == _SECRET]
    others = [value for kind, value in given if kind not in (_SECRET, *_REFERENCES)]
    # Line by line, because a tool's message quotes a line of a long text rather than all of it.
    lines = (line for text in _texts(others) for line in text.splitlines())
    return list(_texts(secrets)), [line for line in lines if len(line) >= _SHORTEST_HIDDEN]


def _texts(value: object) -> Iterator[str]:
    """Yield the texts and numbers in a value."""
    if is_object(value):
        for item in value.values():
            yield from _texts(item)
    elif is_list(value):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        # A short number would be found everywhere.
        if len(text) <= _LONGEST and (isinstance(value, str) or len(text) >= _SHORTEST_HIDDEN):
            yield text


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if is_object(item)] if is_list(value) else []


def _object(value: object) -> Mapping[str, Any]:
    return value if is_object(value) else {}

"""Settings that map names to secret texts, as a mapping or as JSON on one line."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import override

from gpt5_responses._errors import SettingsError
from stream_text import InvalidJsonError, is_object, parse_json


class SecretTexts[T](Mapping[str, T]):
    """An immutable mapping of names to secret texts, sorted by name; its `repr` shows the names only."""

    def __init__(self, texts: Mapping[str, T]) -> None:
        self._texts = dict(sorted(texts.items(), key=lambda text: (text[0].lower(), text[0])))

    @override
    def __getitem__(self, name: str) -> T:
        return self._texts[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    @override
    def __len__(self) -> int:
        return len(self._texts)

    @override
    def __hash__(self) -> int:
        return hash(tuple(self._texts.items()))

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"


def read_members(
    value: object, field: str, *, what: str, example: str
) -> Sequence[tuple[object, object]]:
    """Return a setting's names and values, duplicates included.

    Args:
        value: JSON text or a mapping; None, an empty mapping or a blank text for none.
        field: The setting's name, for errors.
        what: The names and values in words, for errors.
        example: An example of the setting, for errors.

    Raises:
        SettingsError: If it is neither; the message shows none of it.
    """
    if value is None:
        return ()
    if is_object(value):
        return list(value.items())
    members = _decoded(value, field, example) if isinstance(value, str) else None
    if not isinstance(members, Members):
        raise SettingsError(
            f"{field} must be a JSON object of {what}, as in {example}.", field=field
        )
    return members


class Members(tuple[tuple[str, object], ...]):
    """The members of a JSON object, duplicates included."""

    __slots__ = ()


def _decoded(text: str, field: str, example: str) -> object:
    if not text.strip():
        return Members()
    try:
        parse_json(text)  # its error says what is wrong
    except InvalidJsonError as error:
        raise SettingsError(
            f"{field} must be a JSON object, as in {example}: {error}.", field=field
        ) from None
    # Once more, because only this way shows a name that occurs twice.
    return json.loads(text, object_pairs_hook=Members)

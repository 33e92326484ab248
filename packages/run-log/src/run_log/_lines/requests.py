"""The new parts of each request, which are all that a log writes of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .json_lines import digest, to_text
from .plain import to_plain


type Shape = Callable[[Any], Any]
"""Turns plain JSON into its form in a record."""


class RequestHistory:
    """The requests of a run so far, as digests: a record has only the additions to the request before."""

    def __init__(self) -> None:
        # Digests and no messages, which a caller may change in place. Those of messages as they came say
        # what is new: as they are written they change with every secret that becomes known.
        self._seen: list[str] = []
        self._chain = [digest("")]  # of the messages as they are written, up to each
        self._settings: dict[str, str] = {}

    def add(
        self,
        messages: Iterable[object],
        settings: Mapping[str, object],
        *,
        shape: Shape,
        shape_setting: Shape,
    ) -> dict[str, Any]:
        """Return the fields of a request's record.

        Args:
            messages: All messages of the request, in whatever form.
            settings: The other fields of the request by name; None is left out.
            shape: Turns a message into its written form.
            shape_setting: The same for a setting.
        """
        plain = [to_plain(message) for message in messages]
        found = [digest(to_text(message)) for message in plain]
        kept = count_same(self._seen, found)
        dropped = len(self._seen) - kept
        del self._seen[kept:], self._chain[kept + 1 :]
        fields: dict[str, Any] = {"kept": kept, "prefix": self._chain[-1]}
        if dropped:
            fields["dropped"] = dropped
        fields["added"] = [shape(message) for message in plain[kept:]]
        for message in fields["added"]:
            self._chain.append(digest(to_text(message), self._chain[-1]))
        self._seen += found[kept:]
        fields["digest"] = self._chain[-1]
        return fields | self._add_settings(settings, shape_setting)

    def _add_settings(self, settings: Mapping[str, object], shape: Shape) -> dict[str, Any]:
        plain = {name: to_plain(value) for name, value in settings.items() if value is not None}
        found = {name: digest(to_text(value)) for name, value in plain.items()}
        before, self._settings = self._settings, found
        fields: dict[str, Any] = {}
        changed = [name for name in found if before.get(name) != found[name]]
        if changed:
            fields["set"] = {name: shape(plain[name]) for name in changed}
        if gone := sorted(before.keys() - found.keys()):
            fields["unset"] = gone
        return fields


def count_same(before: Sequence[str], now: Sequence[str]) -> int:
    """Return the number of values that both begin with."""
    pairs = enumerate(zip(before, now, strict=False))
    least = min(len(before), len(now))
    return next((index for index, (old, new) in pairs if old != new), least)

"""Regular expressions that somebody else has written, and that take no longer than the text is long."""

from typing import Annotated

from ._errors import DeclarationError


_MAX_CHARACTERS = 1_000


class LinearPattern:
    """A regular expression that cannot be made to hang: it is matched without backtracking, in time linear in the text.

    The syntax is that of Rust's `regex`, which is Python's but for look-around and backreferences; there are none.

    Args:
        pattern: The expression, of 1,000 characters at most.
        field: Where it stands, for the error.

    Raises:
        DeclarationError: If it is no such expression, or too large.

    Source: pydantic 2.12, `regex_engine="rust-regex"`, which is its default and comes with it.
    """

    def __init__(self, pattern: str, *, field: str = "pattern") -> None:
        from pydantic import StringConstraints, TypeAdapter  # noqa: PLC0415 - slow to import

        if len(pattern) > _MAX_CHARACTERS:
            expected = f"a regular expression of at most {_MAX_CHARACTERS:,} characters"
            raise DeclarationError(field, expected, found=f"{len(pattern):,}")
        self.pattern = pattern
        try:
            self._adapter = TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])
        except Exception as error:  # noqa: BLE001 - pydantic has no name for it
            reason = str(error).strip().splitlines()[-1].removeprefix("error: ").strip()
            expected = "a regular expression without look-around and backreferences"
            raise DeclarationError(field, expected, found=f"one with the error: {reason}") from None

    def is_in(self, text: str) -> bool:
        """Return whether it matches anywhere in a text."""
        from pydantic import ValidationError  # noqa: PLC0415 - slow to import

        try:
            self._adapter.validate_python(text.encode(errors="replace").decode())
        except ValidationError:
            return False
        return True

"""Checks for arguments of the wrong kind, which fail where they are given and not where they first do harm."""

from collections.abc import Iterable


def wrong_kind(where: str, wanted: str, value: object, hint: str = "") -> TypeError:
    """Return the error for an argument of the wrong kind.

    Args:
        where: The argument, such as `faults[0]`.
        wanted: The expected kind.
        value: The value that was found.
        hint: The code to write instead, if that is known.
    """
    found = f"{type(value).__name__} {value!r:.60}"
    return TypeError(f"{where}: expected {wanted}, found {found}{hint and f'; write {hint}'}")


def entries_of[T](where: str, value: Iterable[T]) -> Iterable[T]:
    """Return the entries of an argument that is a list, a tuple or the like.

    Raises:
        TypeError: If it is something else. A text is refused too: it would be taken for a list of letters.
    """
    if isinstance(value, str | bytes):
        hint = f"{where}=[{value!r}]" if where.isidentifier() else ""
        raise wrong_kind(where, "a list", value, hint)
    try:
        iter(value)
    except TypeError:
        raise wrong_kind(where, "a list", value) from None
    return value


def validate_kind(where: str, value: object, kinds: tuple[type, ...], wanted: str) -> None:
    """Refuse a value of another type; None is the default and accepted.

    Raises:
        TypeError: If it has none of the types in `kinds`. A boolean does not count as a number.
    """
    is_disguised = isinstance(value, bool) and bool not in kinds
    if value is not None and (is_disguised or not isinstance(value, kinds)):
        raise wrong_kind(where, wanted, value)


def validate_number(
    where: str, value: float, *, least: float, most: float = float("inf"), is_whole: bool = False
) -> None:
    """Refuse a value that is not a number, or out of range.

    Raises:
        TypeError: If it is not a number.
        ValueError: If it is below `least` or above `most`.
    """
    if is_whole:
        validate_kind(where, value, (int,), "a whole number")
    else:
        validate_kind(where, value, (int, float), "a number")
    if not least <= value <= most:
        bound = f"from {least} to {most}" if most != float("inf") else f"from {least} up"
        raise ValueError(f"{where}: expected a number {bound}, found {value!r}")

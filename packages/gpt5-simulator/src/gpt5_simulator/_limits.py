"""Numbers and texts that are too small, too large or too long, in OpenAI's words."""

from gpt5_simulator._errors import ApiError


def validate_number(
    param: str, value: float, *, least: float | None = None, most: float | None = None
) -> None:
    """Refuse a number that is out of range.

    Raises:
        ApiError: If it is below `least` or above `most`.
    """
    kind = "integer" if isinstance(value, int) else "decimal"
    if least is not None and value < least:
        raise _out_of_range(param, value, kind, f"below minimum value. Expected a value >= {least}")
    if most is not None and value > most:
        raise _out_of_range(param, value, kind, f"above maximum value. Expected a value <= {most}")


def validate_length(param: str, value: str, *, most: int) -> None:
    """Refuse a text that is too long.

    Raises:
        ApiError: If it has more than `most` characters.
    """
    if len(value) > most:
        text = (
            f"Invalid '{param}': string too long. Expected a string with maximum length {most}, "
            f"but got a string with length {len(value)} instead."
        )
        raise ApiError(text, param=param, code="string_above_max_length")


def _out_of_range(param: str, value: float, kind: str, reason: str) -> ApiError:
    bound = "below_min_value" if reason.startswith("below") else "above_max_value"
    text = f"Invalid '{param}': {kind} {reason}, but got {value} instead."
    return ApiError(text, param=param, code=f"{kind}_{bound}")

"""The limits of a log."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """The limits of a log.

    Attributes:
        max_age_days: How old a run may get, counted from its last record. Over 0.
        max_total_bytes: The maximum size of all runs in a folder; the oldest are deleted when a new one begins. At least 1.
        max_run_bytes: The maximum size of one run; after that only its end is logged. At least 1.
        max_text_bytes: The maximum size of a text (an image, a file, a tool's result) that is logged whole; a longer
            one is logged as digest and size. At least 0.
        delta_seconds: How long the pieces of an answer are collected into one record; 0 writes each.

    Raises:
        ValueError: If one is smaller than that; it names the setting.
    """

    max_age_days: float = 30
    max_total_bytes: int = 1_000_000_000
    max_run_bytes: int = 250_000_000
    max_text_bytes: int = 20_000_000
    delta_seconds: float = 0.5

    def __post_init__(self) -> None:
        """Refuse limits that no log could keep to."""
        for field in fields(self):
            value = getattr(self, field.name)
            may_be_zero = field.name in {"max_text_bytes", "delta_seconds"}
            if not (value >= 0 if may_be_zero else value > 0):
                expected = "at least 0" if may_be_zero else "more than 0"
                raise ValueError(f"{field.name}: expected {expected}, got {value!r}")

"""How much is logged, and for how long."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """The bounds of a log.

    Attributes:
        max_age_days: How old a run may get, by when it was last written to. Over 0.
        max_total_bytes: How much all runs of a folder may take; the oldest go first, when a new one begins. At least 1.
        max_run_bytes: How much one run may take; what comes after that is not logged but for its end. At least 1.
        max_text_bytes: How long a text may be (an image, a file, a tool's result) that is logged whole; of a longer one there are digest and size. At least 0.
        delta_seconds: For how long the pieces of an answer are collected into one record; 0 writes each.

    Raises:
        ValueError: If one is smaller than that; it names the setting.
    """

    max_age_days: float = 30
    max_total_bytes: int = 1_000_000_000
    max_run_bytes: int = 250_000_000
    max_text_bytes: int = 20_000_000
    delta_seconds: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what no log could keep."""
        for field in fields(self):
            value = getattr(self, field.name)
            may_be_zero = field.name in {"max_text_bytes", "delta_seconds"}
            if not (value >= 0 if may_be_zero else value > 0):
                expected = "at least 0" if may_be_zero else "more than 0"
                raise ValueError(f"{field.name}: expected {expected}, got {value!r}")

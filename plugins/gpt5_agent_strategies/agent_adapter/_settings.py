"""The administrator's settings, as environment variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from agent_loop import TimeBudget
from dify_plugin_kit.settings import read_int


_FALSE_TEXTS = frozenset({"false", "0", "no", "off"})
_CALL_ENDING = "Dify's plugin daemon would have ended it (DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT)"
# The variable, minimum and maximum of each whole number; one that is missing or not a number keeps
# its default.
_NUMBERS: Mapping[str, tuple[str, int, int]] = {
    "tool_seconds": ("GPT5_AGENT_TOOL_SECONDS", 1, 3600),
    "result_characters": ("GPT5_AGENT_RESULT_CHARACTERS", 1_000, 1_000_000),
    "window_tokens": ("GPT5_AGENT_WINDOW_TOKENS", 4_000, 100_000_000),
    "compact_percent": ("GPT5_AGENT_COMPACT_PERCENT", 0, 95),
    "tool_search_from": ("GPT5_AGENT_TOOL_SEARCH_FROM", 1, 10_000),
    "approval_seconds": ("GPT5_AGENT_APPROVAL_SECONDS", 1, 2_592_000),
    "memory_bytes": ("GPT5_AGENT_MEMORY_BYTES", 10_000, 2_600_000),
}


def read_flag(value: object, *, default: bool) -> bool:
    """Read a flag, which may be text or, since the SDK reads YAML's `true` as 1, a number; None and blank text mean the default."""
    if isinstance(value, str):
        value = value.strip().lower()
        return value not in _FALSE_TEXTS if value else default
    return default if value is None else bool(value)


def _read_folder(environment: Mapping[str, str], name: str, *, default: str) -> str:
    """Return an absolute path other than `/`, without a trailing slash; `default` if there is none."""
    folder = environment.get(name, "").rstrip("/")
    return folder if folder.startswith("/") else default


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of every run.

    Attributes:
        time: The time limits: `GPT5_AGENT_RUN_SECONDS` for the whole run, 1 to 3600; `GPT5_AGENT_CLOSING_SECONDS` for the closing
            call, 0 to 1800; `MAX_INVOCATION_TIMEOUT` for the silence of a model, 60 to 3600. They stay under the limits of the platform,
            `PLUGIN_MAX_EXECUTION_TIMEOUT` (seconds) and `DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT` (milliseconds), which the daemon passes on.
        tool_seconds: How long a tool may be silent. `GPT5_AGENT_TOOL_SECONDS`, 1 to 3600.
        result_characters: How many characters of a tool's result the model reads. `GPT5_AGENT_RESULT_CHARACTERS`, 1,000 to 1,000,000.
        window_tokens: How many tokens a request may have; None for Dify's value for the model. `GPT5_AGENT_WINDOW_TOKENS`, 4,000 to 100,000,000.
        compact_percent: The percentage of the window from which on a run is compacted; 0 for never. `GPT5_AGENT_COMPACT_PERCENT`, 0 to 95.
        tool_search_from: The number of tools from which on the model searches them. `GPT5_AGENT_TOOL_SEARCH_FROM`, 1 to 10,000.
        files_root: The only folder that tools may show images from. `GPT5_AGENT_FILES_ROOT`, an absolute path.
        approval_seconds: How long to wait for a person's answer. `GPT5_AGENT_APPROVAL_SECONDS`, 1 to 2,592,000.
        memory_bytes: How many bytes the remembered turns of a conversation may take in Dify's storage.
            `GPT5_AGENT_MEMORY_BYTES`, 10,000 to 2,600,000.
        snapshot_secret: The secret that signs runs in Dify's storage. `GPT5_AGENT_SNAPSHOT_KEY`.
        logs_content: Whether logs hold texts, arguments and results, redacted, or only counts. `GPT5_AGENT_LOG_CONTENT`.
        logs_icons: Whether logs name the provider of a model or tool, for its icon, which takes Dify up to a second to
            look up. `GPT5_AGENT_LOG_ICONS`.
    """

    time: TimeBudget = field(default_factory=partial(TimeBudget, call_ending=_CALL_ENDING))
    tool_seconds: int = 240
    result_characters: int = 200_000
    window_tokens: int | None = None
    compact_percent: int = 80
    tool_search_from: int = 30
    files_root: str = "/files"
    approval_seconds: int = 86_400
    memory_bytes: int = 200_000
    snapshot_secret: str = field(default="", repr=False)
    logs_content: bool = True
    logs_icons: bool = False

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the settings; one that is missing or unreadable keeps its default."""
        usual = cls()
        numbers = {
            field: read_int(
                environment, name, default=getattr(usual, field), minimum=least, maximum=most
            )
            for field, (name, least, most) in _NUMBERS.items()
        }
        return cls(
            **numbers,
            time=_read_time(environment),
            files_root=_read_folder(environment, "GPT5_AGENT_FILES_ROOT", default=usual.files_root),
            snapshot_secret=environment.get("GPT5_AGENT_SNAPSHOT_KEY", ""),
            logs_content=read_flag(environment.get("GPT5_AGENT_LOG_CONTENT"), default=True),
            logs_icons=read_flag(environment.get("GPT5_AGENT_LOG_ICONS"), default=False),
        )


def _read_time(environment: Mapping[str, str]) -> TimeBudget:
    read = partial(read_int, environment, default=None, minimum=1, maximum=10**9)
    call_milliseconds = read("DIFY_BACKWARDS_INVOCATION_READ_TIMEOUT")
    budget = TimeBudget.within(
        run_limit_seconds=read("PLUGIN_MAX_EXECUTION_TIMEOUT"),
        call_limit_seconds=call_milliseconds and call_milliseconds / 1000,
        run_seconds=read("GPT5_AGENT_RUN_SECONDS", maximum=3600),
        closing_seconds=read("GPT5_AGENT_CLOSING_SECONDS", minimum=0, maximum=1800),
        silence_seconds=read("MAX_INVOCATION_TIMEOUT", minimum=60, maximum=3600),
    )
    return replace(budget, call_ending=_CALL_ENDING)

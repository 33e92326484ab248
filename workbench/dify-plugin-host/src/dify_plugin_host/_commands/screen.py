"""An agent run, printed for people: on a terminal or into a pipe."""

import json
import shlex
import unicodedata
from pathlib import Path
from typing import Any

from rich.console import Console

from dify_plugin_host._process.connection import Notice
from dify_plugin_packager.json_access import is_object

from .progress import (
    BudgetUsed,
    FileGiven,
    NoticeGiven,
    OtherMessage,
    RoundStarted,
    RunEvent,
    RunFinished,
    RunStarted,
    TextPiece,
    ThoughtPiece,
    ToolAnswered,
    ToolCalled,
)


_LONGEST_VALUE = 500
_QUIET_LEVELS = frozenset({"DEBUG", "INFO"})


class Screen:
    """A printer of events as they come.

    Nothing is redrawn, so that a pipe gets the same text without any control code. Thoughts are dim, and have a bar in front that
    distinguishes them from answers in a pipe as well.

    Args:
        console: The console to print to.
        show_thoughts: Whether to print thoughts.
    """

    def __init__(self, console: Console, *, show_thoughts: bool = True) -> None:
        self._console = console
        self._show_thoughts = show_thoughts
        self._at_line_start = True
        self._has_text = False
        self._in_thought = False

    def show(self, event: RunEvent) -> None:
        """Print one event."""
        match event:
            case ThoughtPiece() | TextPiece():
                self._show_text(event)
            case ToolCalled() | ToolAnswered():
                self._show_tool(event)
            case FileGiven():
                self._line(
                    file_line(event.name, event.mime_type, event.size_bytes, event.path),
                    style="magenta",
                )
            case BudgetUsed():
                self._line(f"{event.name}: {event.used} of {event.maximum} used", style="dim")
            case OtherMessage():
                self._line(f"[{event.type}] {_short(event.message)}", style="magenta")
            case NoticeGiven():
                self._line(f"{event.plugin}: {event.text}", style="yellow")
            case _:
                self._show_run(event)

    def _show_text(self, event: ThoughtPiece | TextPiece) -> None:
        thinks = isinstance(event, ThoughtPiece)
        if thinks and not self._show_thoughts:
            return
        if thinks != self._in_thought:
            self._end_line()
        self._in_thought = thinks
        for line in printable(event.text).splitlines(keepends=True):
            self._piece(line)

    def _show_tool(self, event: ToolCalled | ToolAnswered) -> None:
        if isinstance(event, ToolCalled):
            self._line(f"→ {event.name}({_arguments(event.arguments)})", style="cyan")
        elif event.status == "success":
            self._line(f"← {event.name}: {_short(event.result)}", style="green")
        else:
            self._line(f"✗ {event.name}: {_short(event.result)}", style="red")

    def _show_run(self, event: RunEvent) -> None:
        match event:
            case RunStarted():
                title = f"{event.strategy} with {event.model}" if event.strategy else event.model
                self._line(f"{title}, answered by {event.server}")
                if event.strategy:
                    self._line(f"tools: {', '.join(event.tools) or 'none'}", style="dim")
                if event.files:
                    self._line(f"files: {', '.join(event.files)}", style="dim")
            case RoundStarted():
                self._line(f"\nRound {event.number}", style="bold")
            case RunFinished():
                self._line(f"\n{_summary(event)}", style="bold")
            case _:
                self._end_line()  # The run has failed; the reason goes to stderr.

    def _piece(self, text: str) -> None:
        """Print a piece of a line; blank lines at the beginning of a thought or an answer are left out."""
        begins = self._at_line_start and not self._has_text
        if begins and text == "\n":
            return
        bar = "│ " if self._in_thought and self._at_line_start else ""
        self._print(bar + text, style="dim italic" if self._in_thought else "", end="")
        self._at_line_start = text.endswith("\n")
        self._has_text = True

    def _line(self, text: str, *, style: str = "") -> None:
        self._end_line()
        self._print(printable(text), style=style)

    def _end_line(self) -> None:
        if not self._at_line_start:
            self._print("")
        self._at_line_start = True
        self._has_text = False

    def _print(self, text: str, *, style: str = "", end: str = "\n") -> None:
        # As it is: rich would read markup and emoji names in a model's text, and break long lines.
        self._console.print(
            text, style=style, end=end, markup=False, highlight=False, emoji=False, soft_wrap=True
        )


def _arguments(arguments: Any) -> str:
    if is_object(arguments):
        return ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
    return _short(arguments)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _summary(event: RunFinished) -> str:
    rounds = f"{event.rounds} round{'' if event.rounds == 1 else 's'}"
    cost = f"{event.total_price} {event.currency}"
    parts = [rounds, f"{event.total_tokens} tokens", cost, f"{event.seconds:.1f} s"]
    if reason := event.metadata.get("stop_reason"):
        parts.append(f"stopped: {reason}")
    return " · ".join(parts)


def is_quiet(notice: Notice) -> bool:
    """Tell whether a notice is shown only with `--verbose`."""
    return notice.kind in {"log", "stderr"} and notice.level in _QUIET_LEVELS


def file_line(name: str, mime_type: str, size_bytes: int, path: Path | str | None) -> str:
    """Return the line about a file of an answer, with the path that it was saved to, if any."""
    saved = f"saved as {path}" if path else "--save-files DIR saves it"
    return f"[file] {name} ({mime_type}, {size_bytes} bytes): {saved}"


def shell_path(path: Path) -> str:
    """Return a path as a command line takes it, which is no option either."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def printable(text: str) -> str:
    """Remove control characters, since the text of a model or a tool must not control the terminal."""
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) != "Cc"
    )

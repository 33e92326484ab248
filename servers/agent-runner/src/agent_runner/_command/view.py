"""The output of a run for machines and people: texts, images and a progress line."""

import asyncio
import base64
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path

import typer

from agent_runner._errors import refusing_os_errors
from agent_runner._output.outputs import (
    AudioOutput,
    ErrorOutput,
    ImageOutput,
    JsonOutput,
    Output,
    ResourceOutput,
    TextOutput,
)
from agent_runner._run.result import RunResult


type Show = Callable[[Output | RunResult], None]

_TICK_SECONDS = 1.0
# Back to the beginning of the line, and erase all of it.
_ERASE = "\r\x1b[2K"
_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}


def show_json(output: Output | RunResult) -> None:
    """Print an output as a line of JSON, in ASCII so that it survives every terminal and pipe."""
    typer.echo(json.dumps(output.to_dict()))


def show_text(output: Output | RunResult, *, save_images: Path | None) -> None:
    """Print one output, or the result, for a person: the answer goes to stdout, errors and the end of the run to stderr.

    Args:
        output: The output.
        save_images: Folder for images; None saves none.

    Raises:
        ConfigurationError: If an image cannot be saved.
    """
    match output:
        case TextOutput(text=text):
            print_text(text)
        case JsonOutput(value=value):
            print_text(json.dumps(value, ensure_ascii=False, indent=2))
        case ImageOutput():
            _show_image(output, save_images)
        case AudioOutput():
            print_text(f"[audio {output.mime_type or 'of unknown type'}, {_size(output.data)}]")
        case ResourceOutput():
            print_text(f"[resource {output.uri or 'without uri'}] {output.text or ''}".rstrip())
        case ErrorOutput(message=message):
            print_text(message, err=True, color=typer.colors.RED)
        case _:
            _show_result(output)


def _show_image(output: ImageOutput, folder: Path | None) -> None:
    about = f"image {output.mime_type or 'of unknown type'}, {_size(output.data)}"
    data = _decode_image(output)
    if data is None:
        print_text(f"[{about}, broken: its data is not base64]")
        return
    if folder is not None:
        about += f", saved as {_save_image(output, data, folder)}"
    try:
        drawn = _draw_image(data)
    except ValueError:
        about, drawn = f"{about}, broken: it cannot be decoded", False
    if folder is not None or not drawn:
        print_text(f"[{about}]")


class Progress:
    """A progress line with the run's time and its number of outputs.

    It is shown only if stderr is a terminal; a pipe or a file gets nothing of it.
    """

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._started = time.monotonic()
        self._outputs = 0

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Keep the line up to date within the context, and erase it at the end."""
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait({ticking})
            self.erase()

    def count(self, output: Output | RunResult) -> None:
        """Count an output that was printed, and draw the line again below it."""
        if not isinstance(output, RunResult):
            self._outputs += 1
            self._draw()

    def erase(self) -> None:
        """Erase the line, to make room for an output."""
        self._write(_ERASE)

    async def _tick(self) -> None:
        while True:
            self._draw()
            await asyncio.sleep(_TICK_SECONDS)

    def _draw(self) -> None:
        seconds = time.monotonic() - self._started
        self._write(f"{_ERASE}running for {seconds:.0f} s, {self._outputs} outputs")

    def _write(self, text: str) -> None:
        if self._is_shown:
            sys.stderr.write(text)
            sys.stderr.flush()


def _show_result(result: RunResult) -> None:
    color = typer.colors.GREEN if result.status == "succeeded" else typer.colors.RED
    print_text(f"{result.status} in {result.duration_seconds:.1f} s", err=True, color=color)
    for usage in result.metadata.get("_llm_usage", ()):
        print_text(f"usage: {json.dumps(usage, ensure_ascii=False)}", err=True)


def _size(data: str | None) -> str:
    # Four characters of base64 are three bytes; each `=` at the end is one byte less.
    return "no data" if data is None else f"{len(data) * 3 // 4 - data[-2:].count('='):,} bytes"


def print_text(text: str, *, err: bool = False, color: str | None = None) -> None:
    """Print untrusted text, with control characters and those that the terminal cannot encode as escapes."""
    encoding = (sys.stderr if err else sys.stdout).encoding
    printable = text if text.isprintable() else "".join(map(_printable, text))
    safe = printable.encode(encoding, "backslashreplace").decode(encoding)
    typer.secho(safe, err=err, fg=color, reset=color is not None)


def _printable(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    # Otherwise a script could move the cursor, or make the terminal answer.
    return ascii(character)[1:-1]


def _decode_image(output: ImageOutput) -> bytes | None:
    """Return the image's bytes; None if they are missing or not base64."""
    try:
        return base64.b64decode(output.data or "", validate=True) or None
    except ValueError:
        return None


def _save_image(output: ImageOutput, data: bytes, folder: Path) -> Path:
    """Write an image to a new file, and return its path.

    The name is ours: of what the script printed, only the type decides about its suffix.

    Raises:
        ConfigurationError: If the folder cannot be written.
    """
    suffix = _SUFFIXES.get(output.mime_type or "", ".bin")
    with refusing_os_errors(folder, "expected a folder to write images to"):
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.iterdir())) + 1
        # Files of earlier runs are never overwritten.
        while (path := folder / f"image-{number}{suffix}").exists():
            number += 1
        path.write_bytes(data)
    return path


def _draw_image(data: bytes) -> bool:
    """Draw an image on the terminal, and return whether that worked.

    It needs the extra `images`, and stdin and stdout that are terminals, because a terminal has to be asked what it supports.

    Raises:
        ValueError: If it is not an image.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        # Asks the terminal when it is imported, and takes a while to load.
        from rich.console import Console  # noqa: PLC0415
        from textual_image.renderable import Image  # noqa: PLC0415
    except Exception:  # noqa: BLE001 - not installed, or it cannot handle this terminal's answer
        return False
    try:
        Console(file=sys.stdout).print(Image(BytesIO(data)))
    except Exception as error:  # Decoders raise many kinds for untrusted bytes.
        raise ValueError("no image") from error
    return True

"""Output of a run, for machines and for people."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import typer

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

from .images import decode_image, draw_image, save_image


type Show = Callable[[Output | RunResult], None]


def show_json(output: Output | RunResult) -> None:
    """Print one line of JSON, in ASCII so that it survives every terminal and pipe."""
    typer.echo(json.dumps(output.to_dict()))


class TextView:
    """What a person sees of a run: the answer on stdout; errors and how the run ended on stderr."""

    def __init__(self, *, save_images: Path | None = None) -> None:
        """Save images to a folder, or none at all where it is None."""
        self._save_images = save_images

    def show(self, output: Output | RunResult) -> None:
        """Print one output, or the result.

        Raises:
            ConfigurationError: If an image cannot be saved.
        """
        match output:
            case TextOutput(text=text):
                print_text(text)
            case JsonOutput(value=value):
                print_text(json.dumps(value, ensure_ascii=False, indent=2))
            case ImageOutput():
                self._show_image(output)
            case AudioOutput():
                print_text(f"[audio {output.mime_type or 'of unknown type'}, {_size(output.data)}]")
            case ResourceOutput():
                print_text(f"[resource {output.uri or 'without uri'}] {output.text or ''}".rstrip())
            case ErrorOutput(message=message):
                print_text(message, err=True, color=typer.colors.RED)
            case _:
                _show_result(output)

    def _show_image(self, output: ImageOutput) -> None:
        about = f"image {output.mime_type or 'of unknown type'}, {_size(output.data)}"
        data = decode_image(output)
        if data is None:
            print_text(f"[{about}, broken: its data is not base64]")
            return
        if self._save_images is not None:
            about += f", saved as {save_image(output, data, self._save_images)}"
        try:
            drawn = draw_image(data)
        except ValueError:
            about, drawn = f"{about}, broken: it cannot be decoded", False
        if self._save_images is not None or not drawn:
            print_text(f"[{about}]")


def _show_result(result: RunResult) -> None:
    color = typer.colors.GREEN if result.status == "succeeded" else typer.colors.RED
    print_text(f"{result.status} in {result.duration_seconds:.1f} s", err=True, color=color)
    for usage in result.metadata.get("_llm_usage", ()):
        print_text(f"usage: {json.dumps(usage, ensure_ascii=False)}", err=True)


def _size(data: str | None) -> str:
    return "no data" if data is None else f"{len(data) * 3 // 4 - data[-2:].count('='):,} bytes"


def print_text(text: str, *, err: bool = False, color: str | None = None) -> None:
    """Print untrusted text: control characters, and characters that the terminal cannot encode, are shown as escapes."""
    encoding = (sys.stderr if err else sys.stdout).encoding
    printable = text if text.isprintable() else "".join(map(_printable, text))
    safe = printable.encode(encoding, "backslashreplace").decode(encoding)
    typer.secho(safe, err=err, fg=color, reset=color is not None)


def _printable(character: str) -> str:
    if character.isprintable() or character in "\n\t":
        return character
    return ascii(character)[1:-1]

"""Images on a terminal and in files."""

import base64
import binascii
import sys
from io import BytesIO
from pathlib import Path

from agent_runner._errors import refusing_os_errors
from agent_runner._output.outputs import ImageOutput


_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}


def decode_image(output: ImageOutput) -> bytes | None:
    """Return the image's bytes, or None if they are missing or no base64."""
    try:
        return base64.b64decode(output.data or "", validate=True) or None
    except (binascii.Error, ValueError):
        return None


def save_image(output: ImageOutput, data: bytes, folder: Path) -> Path:
    """Write an image to a new file, and return its path.

    Its name is ours: nothing of what the script said goes into it but one of four endings.

    Raises:
        ConfigurationError: If the folder cannot be written.
    """
    suffix = _SUFFIXES.get(output.mime_type or "", ".bin")
    with refusing_os_errors(folder, "expected a folder to write images to"):
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.iterdir())) + 1
        while (path := folder / f"image-{number}{suffix}").exists():
            number += 1
        path.write_bytes(data)
    return path


def draw_image(data: bytes) -> bool:
    """Draw an image on the terminal, and return whether that worked.

    It does not where stdin or stdout is no terminal, for a terminal must be asked what it can do; nor without the extra `images`.

    Raises:
        ValueError: If it is no image.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        # Asks the terminal, and takes a while to load.
        from rich.console import Console  # noqa: PLC0415
        from textual_image.renderable import Image  # noqa: PLC0415
    except Exception:  # noqa: BLE001 - not installed, or not made for this terminal's answer
        return False
    try:
        Console(file=sys.stdout).print(Image(BytesIO(data)))
    except Exception as error:  # whatever a decoder says to bytes that anybody may have made
        raise ValueError("no image") from error
    return True

"""Pictures of one colour in the formats of image generation."""

import re
from io import BytesIO


_SIZE = (1024, 1024)
_SIZE_TEXT = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")


def parse_size(text: str) -> tuple[int, int]:
    """Parse `WIDTHxHEIGHT`; anything else, such as `auto`, is 1024 by 1024."""
    found = _SIZE_TEXT.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else _SIZE


def build_picture(output_format: str, size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    """Build a picture of one colour.

    Args:
        output_format: `png`, `jpeg`, `webp`, `gif` or `svg`.
        size: Width and height in pixels.
        colour: Red, green and blue, 0 to 255.
    """
    if output_format == "svg":
        fill = "".join(f"{part:02x}" for part in colour)
        opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}">'
        return f'{opening}<rect width="100%" height="100%" fill="#{fill}"/></svg>'.encode()
    from PIL import Image  # noqa: PLC0415  few simulators draw

    written = BytesIO()
    Image.new("RGB", size, colour).save(written, output_format)
    return written.getvalue()

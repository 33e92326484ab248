"""Pictures of one colour in the formats of image generation: valid, of any size, and small."""

import re
import struct
import zlib


_SIZE = (1024, 1024)
_SIZE_TEXT = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")
_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG_BLOCK = 8


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
    builders = {"png": _png, "jpeg": _jpeg, "webp": _webp, "gif": _gif, "svg": _svg}
    return builders[output_format](size, colour)


def _png(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    width, height = size
    row = b"\x00" + bytes(colour) * width  # no filter, then the pixels
    pixels = zlib.compressobj(1)  # the fastest: one colour is small at any level

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits each of red, green, blue
    data = b"".join(pixels.compress(row) for _ in range(height)) + pixels.flush()
    return _PNG + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def _jpeg(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    """Return a baseline JPEG: the first block has the colour, and each further one no change.

    Source: https://www.w3.org/Graphics/JPEG/itu-t81.pdf
    """
    width, height = size
    red, green, blue = colour
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    # All quantisers below are 8, so the level of a block is just the mean of its samples.
    levels = (luma - 128, 0.564 * (blue - luma), 0.713 * (red - luma))
    blocks = -(-width // _JPEG_BLOCK) * -(-height // _JPEG_BLOCK)
    first = "".join(_jpeg_level(round(level)) for level in levels)
    bits = first + "00" * 3 * (blocks - 1)
    # Ones fill the last byte, and a zero byte keeps each 0xFF from being read as a marker.
    data = _packed(bits + "1" * (-len(bits) % 8)).replace(b"\xff", b"\xff\x00")
    parts = [(number, 0x11, 0) for number in (1, 2, 3)]
    frame = struct.pack(">BHHB", 8, height, width, 3) + b"".join(map(bytes, parts))
    # The Huffman tables: how many codes there are of each length, then their values. Of levels one code of
    # 1 bit and eight of 5; of what follows in a block only its end, of 1 bit.
    lengths = bytes([1, 0, 0, 0, 8, *[0] * 11]) + bytes(range(9))
    ends = bytes([1, *[0] * 15, 0])
    scan = bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0])
    segments = (
        (0xDB, bytes([0, *[8] * 64])),
        (0xC0, frame),
        (0xC4, b"\x00" + lengths + b"\x10" + ends),
        (0xDA, scan),
    )
    head = b"".join(b"\xff%c" % mark + struct.pack(">H", len(s) + 2) + s for mark, s in segments)
    return b"\xff\xd8" + head + data + b"\xff\xd9"


def _jpeg_level(level: int) -> str:
    """Return the bits of a block: its change of level, as `0` for none or else with a code from `10000` to `10111` for the number of bits, and its end."""
    if not level:
        return "00"
    count = abs(level).bit_length()
    value = level if level > 0 else level + (1 << count) - 1
    return f"{0b10000 + count - 1:05b}{value:0{count}b}0"


def _webp(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    """Return a lossless WebP: each channel has one symbol, so a pixel takes no bits.

    Source: https://www.rfc-editor.org/rfc/rfc9649
    """
    width, height = size
    red, green, blue = colour
    # No alpha, version 0; then no transform, no colour cache, and one group of codes.
    fields = [(width - 1, 14), (height - 1, 14), (0, 1), (0, 3), (0, 3)]
    # A simple code of one symbol of 8 bits for each channel, and one of 1 bit for distances.
    for channel in (green, red, blue, 255):
        fields += [(0b101, 3), (channel, 8)]
    fields += [(0b001, 3), (0, 1)]
    data = b"\x2f" + _little(fields)
    data += b"\x00" * (len(data) % 2)  # Chunks of RIFF have an even length.
    body = b"WEBPVP8L" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _gif(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    """Return a GIF: in its one run of pixels each code represents one pixel more than the one before.

    Source: https://www.w3.org/Graphics/GIF/spec-gif89a.txt
    """
    width, height = size
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0)  # a table of two colours
    table = bytes(colour) + b"\x00\x00\x00"
    image = b"," + struct.pack("<HHHHB", 0, 0, width, height, 0)
    data = _little(_gif_codes(width * height))
    blocks = (data[start : start + 255] for start in range(0, len(data), 255))
    return head + table + image + b"\x02" + b"".join(bytes([len(b)]) + b for b in blocks) + b"\x00;"


def _gif_codes(pixels: int) -> list[tuple[int, int]]:
    clear, end, last = 4, 5, 4095
    codes = [(clear, 3)]
    free, length = end, 1
    # With each code but the first the reader's table grows by one; a code has as many bits as the table
    # needs, and after 4,096 entries the table begins anew.
    while pixels > 0:
        shown = min(length, pixels)
        code = 0 if shown == 1 else end + shown - 1
        codes.append((code, max(free.bit_length(), 3)))
        pixels -= shown
        free, length = free + 1, length + 1
        if free > last:
            codes.append((clear, 12))
            free, length = end, 1
    return [*codes, (end, max(free.bit_length(), 3))]


def _svg(size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    width, height = size
    fill = "".join(f"{part:02x}" for part in colour)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<rect width="100%" height="100%" fill="#{fill}"/></svg>'
    ).encode()


def _little(fields: list[tuple[int, int]]) -> bytes:
    """Return numbers with given widths as bytes, the lowest bit first."""
    total = shift = 0
    for value, width in fields:
        total |= value << shift
        shift += width
    return total.to_bytes(-(-shift // 8), "little")


def _packed(bits: str) -> bytes:
    return int(bits, 2).to_bytes(len(bits) // 8, "big")

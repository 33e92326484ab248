"""Media types of files, known by their first bytes.

Source: PNG (W3C, 5.2), GIF89a (17), JPEG (ITU T.81, B.1.1.3), RIFF with WebP (RFC 9649, 2.4) and WAVE, PDF (ISO 32000-1, 7.5.2).
"""

MAX_SIGNATURE_BYTES = 12
"""No signature needs more bytes than this."""

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", b"", "image/png"),
    (b"\xff\xd8\xff", b"", "image/jpeg"),
    (b"GIF87a", b"", "image/gif"),
    (b"GIF89a", b"", "image/gif"),
    (b"RIFF", b"WEBP", "image/webp"),
    (b"RIFF", b"WAVE", "audio/x-wav"),
    (b"%PDF-", b"", "application/pdf"),
)
_FORM_TYPE = 8  # where RIFF says what is in it, behind the size


def find_media_type(data: bytes) -> str:
    """Return the MIME type of data that begins like this; empty where it is unknown.

    Example:
        >>> find_media_type(b"%PDF-1.7")
        'application/pdf'
    """
    for beginning, form_type, kind in _SIGNATURES:
        if data.startswith(beginning) and data.startswith(
            form_type, _FORM_TYPE if form_type else 0
        ):
            return kind
    return ""

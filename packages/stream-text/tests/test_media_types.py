import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_text import MAX_SIGNATURE_BYTES, find_media_type


BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff\xe0": "image/jpeg",
    b"\xff\xd8\xff\xe1": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"RIFF\n\x00\x00\x00WEBP": "image/webp",
    b"RIFF\x24\x08\x00\x00WAVE": "audio/x-wav",
    b"%PDF-2.0": "application/pdf",
}


@pytest.mark.parametrize(("beginning", "kind"), BEGINNINGS.items())
@given(rest=st.binary(max_size=20))
def test_files_are_known_by_how_they_begin(beginning: bytes, kind: str, rest: bytes) -> None:
    assert find_media_type(beginning + rest) == kind
    assert find_media_type(beginning[:MAX_SIGNATURE_BYTES]) == kind


@pytest.mark.parametrize(
    "data",
    [b"", b"\x89PNG", b"GIF88a", b"RIFF....AVI ", b"....WEBP", b"XXXX....WEBP", b" %PDF-1.7", b"PK"],
)  # fmt: skip
def test_nothing_is_said_of_what_begins_otherwise(data: bytes) -> None:
    assert find_media_type(data) == ""

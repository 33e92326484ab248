import base64
import itertools
from enum import Enum
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import (
    Blob,
    BlobChunkError,
    BlobError,
    BlobMessage,
    BlobTooLargeError,
    UnfinishedBlobError,
    merge_blob_chunks,
)


class Type(Enum):
    TEXT = "text"
    BLOB_CHUNK = "blob_chunk"


def payload(data=b"", *, blob_id="f", sequence=0, total=None, end=False):
    total_length = len(data) if total is None else total
    return {
        "id": blob_id,
        "sequence": sequence,
        "total_length": total_length,
        "blob": data,
        "end": end,
    }


def chunk(data=b"", *, meta=None, **fields):
    message = SimpleNamespace(**payload(data, **fields))
    return SimpleNamespace(type=Type.BLOB_CHUNK, message=message, meta=meta)


def chunks(*pieces, blob_id="f", meta=None):
    """Return chunks as the plugin SDK sends them: the data, then an empty last one."""
    total = sum(map(len, pieces))
    return [
        chunk(
            piece, blob_id=blob_id, sequence=index, total=total, end=index == len(pieces), meta=meta
        )
        for index, piece in enumerate([*pieces, b""])
    ]


def blob(data, meta=None):
    return BlobMessage(message=Blob(blob=data), meta=meta)


TEXT = SimpleNamespace(type=Type.TEXT, message=SimpleNamespace(text="hello"), meta=None)


def test_chunks_become_one_blob_where_the_last_one_stood():
    first, second, last = chunks(b"hel", b"lo", meta={"mime_type": "text/plain"})

    merged = merge_blob_chunks([first, TEXT, second, last, TEXT])

    assert merged == [TEXT, blob(b"hello", {"mime_type": "text/plain"}), TEXT]


def test_the_last_chunks_meta_counts():
    first, last = chunks(b"hello")
    last.meta = {"filename": "a.txt"}

    assert merge_blob_chunks([first, last])[0].meta == {"filename": "a.txt"}


def test_the_chunks_of_several_files_may_alternate():
    a, b = chunks(b"a1", b"a2", blob_id="a"), chunks(b"b1", b"b2", blob_id="b")
    alternating = [piece for pair in zip(a, b, strict=True) for piece in pair]

    assert merge_blob_chunks(alternating) == [blob(b"a1a2"), blob(b"b1b2")]


def test_an_id_may_be_used_again_for_the_next_file():
    assert merge_blob_chunks(chunks(b"one") + chunks(b"two")) == [blob(b"one"), blob(b"two")]


def test_an_empty_file_is_its_last_chunk():
    assert merge_blob_chunks(chunks()) == [blob(b"")]


def test_a_mapping_with_base64_gives_a_mapping_with_bytes():
    message = payload(b"\x00\xff", end=True)
    message["blob"] = base64.b64encode(message["blob"]).decode()

    merged = merge_blob_chunks([{"type": "blob_chunk", "message": message}])

    assert merged == [{"type": "blob", "message": {"blob": b"\x00\xff"}, "meta": None}]


def test_exactly_at_the_limits_passes():
    parts = chunks(b"x" * 4, b"x" * 4)

    assert merge_blob_chunks(parts, max_file_size=8, max_chunk_size=4) == [blob(b"x" * 8)]


def test_a_file_over_the_limit_is_refused():
    parts = [chunk(b"x" * 8000, sequence=index, total=0) for index in range(132)]

    with pytest.raises(BlobTooLargeError) as caught:
        merge_blob_chunks(parts, max_file_size=1024 * 1024)

    assert str(caught.value) == "File is too large which reached the limit of 1.0MB"
    assert (caught.value.blob_id, caught.value.limit_bytes) == ("f", 1024 * 1024)


def test_a_file_that_announces_too_much_is_refused_before_it_is_read():
    with pytest.raises(BlobTooLargeError, match=r"^File is too large .* 30\.0MB$"):
        merge_blob_chunks([chunk(b"x", total=10**15)])


def test_a_chunk_over_the_limit_is_refused():
    with pytest.raises(BlobTooLargeError, match=r"^File chunk is too large .* 8\.0KB$") as caught:
        merge_blob_chunks([chunk(b"x" * 8193)])

    assert caught.value.limit_bytes == 8192


def test_a_file_whose_last_chunk_never_came_is_refused():
    with pytest.raises(UnfinishedBlobError) as caught:
        merge_blob_chunks([*chunks(b"whole"), *chunks(b"x", blob_id="b")[:-1], chunk(b"y")])

    assert caught.value.blob_ids == ("b", "f")


def test_a_lost_chunk_is_noticed():
    first, _, *rest = chunks(b"one", b"two", b"three")

    with pytest.raises(BlobChunkError, match="blob 'f': chunk 1 expected, got 2"):
        merge_blob_chunks([first, *rest])


def test_a_file_of_another_length_than_announced_is_refused():
    with pytest.raises(BlobChunkError, match="blob 'f': 9 bytes announced, got 3"):
        merge_blob_chunks([chunk(b"abc", total=9, end=True)])


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", 5), ("sequence", None), ("total_length", "9"), ("blob", "no base64!"), ("end", None)],
)
def test_a_chunk_without_its_fields_is_refused(field, value):
    message = {**payload(b"x", end=True), field: value}

    with pytest.raises(BlobChunkError) as caught:
        merge_blob_chunks([{"type": "blob_chunk", "message": message}])

    assert str(caught.value) == "Blob chunk responses must carry BlobChunkMessage payloads."
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("data", [None, 7, "é"])
def test_a_chunk_whose_data_is_neither_bytes_nor_base64_is_refused(data):
    with pytest.raises(BlobError):
        merge_blob_chunks([{"type": "blob_chunk", "message": {**payload(), "blob": data}}])


@given(st.binary(max_size=200), st.lists(st.integers(min_value=0, max_value=200)))
def test_any_split_of_a_file_merges_back(data, cuts):
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[start:end] for start, end in itertools.pairwise(edges)]

    assert merge_blob_chunks([TEXT, *chunks(*pieces)]) == [TEXT, blob(data)]


@given(st.lists(st.binary(min_size=1), min_size=1, max_size=4), st.randoms())
def test_any_interleaving_of_files_merges_back(files, random):
    queues = [chunks(data, blob_id=str(index)) for index, data in enumerate(files)]
    stream = []
    while any(queues):
        stream.append(random.choice([queue for queue in queues if queue]).pop(0))

    merged = merge_blob_chunks(stream)

    assert sorted(message.message.blob for message in merged) == sorted(files)

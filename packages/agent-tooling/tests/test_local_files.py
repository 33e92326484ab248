import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tooling import (
    LocalFile,
    LocalFileError,
    LocalFileNotFoundError,
    LocalFileOutsideRootError,
    LocalFileTooLargeError,
    LocalFileUnreadableError,
    read_local_file,
)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


@pytest.fixture
def root(tmp_path):
    """Return a readable folder next to a secret that must stay unread."""
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "files-of-others").mkdir()
    (tmp_path / "files-of-others" / "a.txt").write_bytes(b"secret")
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


def put(root, name, data=b"data"):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def test_a_file_under_the_root_is_read(root):
    path = put(root, "tools/2026/picture.png", PNG)

    assert read_local_file(path, root=str(root)) == LocalFile(
        data=PNG, mime_type="image/png", filename="picture.png"
    )


def test_folder_and_file_may_have_the_same_name(root):
    assert read_local_file(put(root, "a/a/a"), root=str(root)).data == b"data"


def test_a_root_with_a_slash_at_its_end_is_the_same_root(root):
    assert read_local_file(put(root, "a.txt"), root=f"{root}/").data == b"data"


def test_the_default_root_is_files():
    with pytest.raises(LocalFileOutsideRootError, match="not under '/files'"):
        read_local_file("/etc/hostname")


@pytest.mark.parametrize(
    "path",
    [
        "{root}/../secret.txt",
        "{root}/sub/../../secret.txt",
        "{root}/./../files-of-others/a.txt",
        "{root}-of-others/a.txt",
        "{root}",
        "{root}/",
        "{root}/.",
        "/etc/passwd",
        "a.txt",
        "./a.txt",
        "",
    ],
)
def test_a_path_out_of_the_root_is_refused(root, path, monkeypatch):
    """Defect C5: `/files/../etc/hostname` was read and sent as an image."""
    put(root, "a.txt")
    monkeypatch.chdir(root)

    with pytest.raises(LocalFileOutsideRootError):
        read_local_file(path.format(root=root), root=str(root))


def test_a_link_out_of_the_root_is_refused(root):
    (root / "link.txt").symlink_to(root.parent / "secret.txt")
    (root / "folder").symlink_to(root.parent)

    for path in ("link.txt", "folder/secret.txt"):
        with pytest.raises(LocalFileOutsideRootError):
            read_local_file(f"{root}/{path}", root=str(root))


def test_a_link_within_the_root_is_followed(root):
    put(root, "kept/a.txt")
    (root / "link.txt").symlink_to(root / "kept" / "a.txt")

    assert read_local_file(f"{root}/link.txt", root=str(root)).filename == "a.txt"


def test_the_root_may_be_a_link(root):
    put(root, "a.txt")
    (root.parent / "mount").symlink_to(root)

    assert (
        read_local_file(f"{root.parent}/mount/a.txt", root=f"{root.parent}/mount").data == b"data"
    )


def test_a_path_from_elsewhere_that_links_into_the_root_is_refused(root):
    put(root, "a.txt")
    (root.parent / "elsewhere.txt").symlink_to(root / "a.txt")

    with pytest.raises(LocalFileOutsideRootError):
        read_local_file(f"{root.parent}/elsewhere.txt", root=str(root))


@pytest.mark.parametrize("swapped", ["folder", "folder/a.txt"])
def test_a_link_put_in_place_after_the_check_is_not_followed(root, swapped, monkeypatch):
    """The path is resolved first; what is opened afterwards must be what was resolved."""
    path = put(root, "folder/a.txt")
    resolve = os.path.realpath
    secret = root.parent / "files-of-others"

    def resolve_then_swap(name):
        resolved = resolve(name)
        if name == path:
            (root / swapped).rename(root / "moved")
            (root / swapped).symlink_to(secret if swapped == "folder" else secret / "a.txt")
        return resolved

    monkeypatch.setattr(os.path, "realpath", resolve_then_swap)

    with pytest.raises(LocalFileUnreadableError):
        read_local_file(path, root=str(root))


@pytest.mark.parametrize(
    "name", ["missing.txt", "missing/a.txt", "a.txt/b", "nul\0.txt", "x" * 300]
)
def test_a_path_to_nothing_is_refused(root, name):
    put(root, "a.txt")

    with pytest.raises(LocalFileNotFoundError):
        read_local_file(f"{root}/{name}", root=str(root))


def test_only_regular_files_are_read(root):
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")

    for name in ("folder", "pipe"):
        with pytest.raises(LocalFileUnreadableError, match="not a regular file"):
            read_local_file(f"{root}/{name}", root=str(root))


@pytest.mark.parametrize("target", ["nowhere.txt", "link.txt"])
def test_a_link_that_leads_nowhere_is_there_and_cannot_be_read(root, target):
    (root / "link.txt").symlink_to(root / target)

    with pytest.raises(LocalFileUnreadableError):
        read_local_file(f"{root}/link.txt", root=str(root))


def test_a_file_that_may_not_be_opened_is_there_and_cannot_be_read(root, monkeypatch):
    """As a test may run as somebody who may open everything, the machine's refusal is played."""
    path = put(root, "a.txt")

    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(LocalFileUnreadableError):
        read_local_file(path, root=str(root))


@pytest.mark.parametrize(("size", "limit"), [(10, 10), (0, 0)])
def test_a_file_exactly_at_the_limit_is_read(root, size, limit):
    path = put(root, "a.bin", bytes(size))

    assert len(read_local_file(path, root=str(root), max_bytes=limit).data) == size


def test_a_file_over_the_limit_is_refused(root):
    path = put(root, "a.bin", bytes(5 * 1024 * 1024 + 1))

    with pytest.raises(LocalFileTooLargeError, match="local file is too large") as caught:
        read_local_file(path, root=str(root))

    assert (caught.value.path, caught.value.limit_bytes) == (path, 5 * 1024 * 1024)
    assert isinstance(caught.value, ValueError)


def test_a_file_that_grows_while_it_is_read_is_refused(root, monkeypatch):
    path = put(root, "a.bin", b"1234")
    measure = os.fstat

    def measure_then_grow(descriptor):
        status = measure(descriptor)
        put(root, "a.bin", b"12345678")
        return status

    monkeypatch.setattr(os, "fstat", measure_then_grow)

    with pytest.raises(LocalFileTooLargeError):
        read_local_file(path, root=str(root), max_bytes=4)


def open_descriptors():
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}


def test_no_descriptor_is_left_open(root):
    path = put(root, "a/b/c.txt")
    before = open_descriptors()

    read_local_file(path, root=str(root))
    for bad in ("a/b/missing", "a/b", "../secret.txt"):
        with pytest.raises(LocalFileError):
            read_local_file(f"{root}/{bad}", root=str(root))

    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("name", "data", "mime_type"),
    [
        ("no-extension", PNG, "image/png"),
        ("photo.png", b"\xff\xd8\xff\xe0JFIF", "image/jpeg"),
        ("a.dat", b"GIF87a", "image/gif"),
        ("a.dat", b"GIF89a", "image/gif"),
        ("a.dat", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("a.dat", b"RIFF\0\0\0\0WAVEfmt ", "audio/x-wav"),
        ("a.dat", b"%PDF-1.7", "application/pdf"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
        ("a.webp", b"?", "image/webp"),
        ("a.CSV", b"a,b", "text/csv"),
        ("a.json", b"{}", "application/json"),
        ("a.tar.gz", b"\x1f\x8b", "application/octet-stream"),
        ("a.unheard-of", b"?", "application/octet-stream"),
        ("empty", b"", "application/octet-stream"),
    ],
)
def test_the_type_comes_from_the_content_then_from_the_extension(root, name, data, mime_type):
    """Defect 22: every file was called image/png."""
    assert read_local_file(put(root, name, data), root=str(root)).mime_type == mime_type


@given(st.lists(st.sampled_from(["..", ".", "files", "a.txt", "secret.txt", "up", "/"])))
def test_no_path_leads_to_the_secret(tmp_path_factory, parts):
    root = tmp_path_factory.mktemp("machine") / "files"
    put(root, "a.txt")
    (root.parent / "secret.txt").write_bytes(b"secret")
    (root / "up").symlink_to("..")

    try:
        data = read_local_file("/".join([str(root), *parts]), root=str(root)).data
    except LocalFileError:
        return

    assert data == b"data"

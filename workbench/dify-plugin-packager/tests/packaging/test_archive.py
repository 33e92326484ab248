import io
import json
import stat
import zipfile

import pytest

from dify_plugin_packager import Archive, PackageError
from dify_plugin_packager.packaging import read_identity


@pytest.fixture
def write(tmp_path):
    """Write an archive of these entries, each a name or a ZipInfo with its content; return its path."""

    def run(*entries):
        path = tmp_path / "p.difypkg"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in entries:
                archive.writestr(name, content)
        return path

    return run


def entry(name, **fields):
    made = zipfile.ZipInfo(name)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([("wheels/", "")], "'wheels/' is a directory entry"),
        ([("../evil.py", "")], "'../evil.py': expected a relative path"),
        ([("n" * 300, "")], "expected names of at most 255 bytes"),
        ([(entry("f", compress_type=zipfile.ZIP_BZIP2), "x")], "expected it stored or deflated"),
        ([("main.py", ""), ("main.py/x", "")], "'main.py' is a file and a folder"),
    ],
)
def test_what_the_daemon_could_not_extract_is_not_extracted(write, tmp_path, entries, problem):
    with pytest.raises(PackageError, match=problem):
        Archive.read(write(*entries)).extract(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_a_link_is_a_file_of_its_targets_name_and_of_two_entries_the_first_counts(write):
    link = entry("link.py", external_attr=(stat.S_IFLNK | 0o777) << 16, create_system=3)
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = write((link, "main.py"), ("a.py", "first"), ("a.py", "second"))
    assert Archive.read(path).files == {"link.py": b"main.py", "a.py": b"first"}


def test_names_are_utf_8_whether_the_archive_says_so_or_not(write):
    assert Archive.read(write(("\u00e4.py", ""), ("b.py", ""))).files.keys() == {
        "\u00e4.py",
        "b.py",
    }


def test_what_is_no_package_is_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    large = io.BytesIO()
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(52_428_801))
    (tmp_path / "large").write_bytes(large.getvalue())
    for path, problem in {
        tmp_path / "none": "no such file; expected a .difypkg file",
        tmp_path: "expected a .difypkg file, found a folder",
        tmp_path / "text": "expected a readable zip archive",
        tmp_path / "large": "expected at most 52428800 bytes uncompressed",
    }.items():
        with pytest.raises(PackageError, match=problem):
            Archive.read(path)


def identity(write, **manifest):
    content = {"author": "tests", "name": "p", "version": "1.0.0", **manifest}
    return read_identity(write(("manifest.yaml", json.dumps(content))))


def test_of_two_versions_the_later_is_greater_and_one_with_a_suffix_comes_before_its_own(write):
    versions = ("0.9.10", "0.10.0", "1.0.0-draft_1", "1.0.0", "1.0.1")
    found = [identity(write, version=version) for version in versions]
    assert {(author, name) for author, name, _ in found} == {("tests", "p")}
    orders = [order for _, _, order in found]
    assert orders == sorted(orders)


def test_a_package_that_does_not_say_what_it_is_has_no_identity(write):
    with pytest.raises(PackageError, match="expected author and name of lowercase letters"):
        identity(write, author="Me")
    with pytest.raises(PackageError, match=r"expected a file 'manifest.yaml'"):
        read_identity(write(("main.py", "")))

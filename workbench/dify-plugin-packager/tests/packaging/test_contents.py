import pytest

from dify_plugin_packager.packaging import ContentError, Contents, Requirements


FILES = {
    "models/a.yaml": b"{a: 1}",
    "models/_position.yaml": b"[a]",
    "models/deep/b.yaml": b"",
    "list.yaml": b"[1]",
    "bytes": b"\xff",
    "a.toml": b"x = 1",
    "bad.toml": b"x =",
    "deep.toml": b"a = " + b"[" * 5000,
    "wheels/p.whl": b"",
}


def test_a_file_is_decoded_once():
    contents = Contents(FILES)
    assert contents.mapping("models/a.yaml") == {"a": 1}
    assert contents.yaml("models/a.yaml") is contents.yaml("models/a.yaml")
    assert contents.toml("a.toml") is contents.toml("a.toml")
    assert contents.toml("a.toml") == {"x": 1}
    assert contents.wheels == ["wheels/p.whl"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("models/*.yaml", ["models/a.yaml"]),
        ("models/?.yaml", ["models/a.yaml"]),
        ("models/[^b].yaml", ["models/a.yaml"]),
        (r"models/\a.yaml", ["models/a.yaml"]),
        ("*.yaml", ["list.yaml"]),
    ],
)
def test_a_pattern_never_crosses_a_folder_and_finds_no_position_file(pattern, found):
    assert Contents(FILES).matching(pattern) == found


def test_what_cannot_be_read_is_named():
    contents = Contents(FILES)
    for read, path, problem in [
        (contents.text, "gone", "expected a file 'gone'"),
        (contents.text, "bytes", "bytes: expected UTF-8 text"),
        (contents.mapping, "list.yaml", "list.yaml: expected a mapping"),
        (contents.toml, "bad.toml", "bad.toml: expected TOML"),
        (contents.toml, "deep.toml", "deep.toml: expected TOML that is not nested so deeply"),
        (contents.matching, "a[", "expected a pattern of files"),
    ]:
        with pytest.raises(ContentError, match=problem.replace("[", r"\[")):
            read(path)


def test_a_list_of_requirements_is_read_as_an_installer_reads_it():
    text = (
        "# ours\n--no-index\n-f wheels\n--find-links=more\na==1 \\\n  --hash=sha256:0\n\nb # why\n"
    )
    read = Requirements.parse(text)
    assert read.named == ("a==1", "b")
    assert read.find_links == ("wheels", "more")
    assert not read.uses_index
    assert Requirements.parse("a").uses_index

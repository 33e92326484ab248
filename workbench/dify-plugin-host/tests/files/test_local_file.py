import base64

import pytest

from dify_plugin_host import FileInputError, LocalFile


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
MB = 1024 * 1024


@pytest.mark.parametrize(
    ("name", "kind", "mime_type"),
    [
        ("chart.png", "image", "image/png"),
        ("Photo.JPG", "image", "image/jpeg"),
        ("a.webp", "image", "image/webp"),
        ("a.svg", "image", "image/svg+xml"),
        ("paper.pdf", "document", "application/pdf"),
        ("notes.md", "document", "text/markdown"),
        ("table.csv", "document", "text/csv"),
        (
            "letter.docx",
            "document",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("say.mp3", "audio", "audio/mpeg"),
        ("say.m4a", "audio", "audio/mp4"),
        ("film.mp4", "video", "video/mp4"),
        ("program.py", "document", "text/x-python"),
        ("photo.bmp", "image", "image/bmp"),
        ("data.weird", "custom", "application/octet-stream"),
    ],
)
def test_a_file_is_what_dify_takes_it_for(tmp_path, name, kind, mime_type):
    path = tmp_path / name
    path.write_bytes(PNG)
    file = LocalFile.read(path)
    assert (file.name, file.type, file.mime_type, file.content) == (name, kind, mime_type, PNG)
    assert file.extension == path.suffix.lower()


def test_a_strategy_gets_the_dict_that_the_sdk_makes_a_file_of():
    file = LocalFile(name="chart.png", content=PNG, mime_type="image/png")
    assert file.to_dict("http://h/f") == {
        "dify_model_identity": "__dify__file__",
        "mime_type": "image/png",
        "filename": "chart.png",
        "extension": ".png",
        "size": len(PNG),
        "type": "image",
        "url": "http://h/f",
    }


def test_a_model_gets_a_part_with_the_bytes_or_with_a_link():
    image = LocalFile(name="chart.png", content=PNG, mime_type="image/png")
    expected = {"type": "image", "format": "png", "mime_type": "image/png", "detail": "high"}
    expected |= {"filename": "chart.png", "base64_data": base64.b64encode(PNG).decode(), "url": ""}
    assert image.to_part() == expected
    assert image.to_part("http://h/f") == {**expected, "base64_data": "", "url": "http://h/f"}
    paper = LocalFile(name="a.pdf", content=b"%PDF-", mime_type="application/pdf").to_part()
    assert (paper["type"], paper["format"]) == ("document", "pdf")
    assert "detail" not in paper
    other = LocalFile(name="a.bin", content=b"a")
    assert other.to_part() == {"type": "text", "data": "[Unsupported file type: custom]"}


@pytest.mark.parametrize(
    ("mime_type", "extension", "kind"),
    [
        ("image/png", ".png", "image"),
        ("audio/x-strange", ".bin", "audio"),
        ("text/strange", ".bin", "document"),
        ("", ".bin", "custom"),
    ],
)
def test_a_file_without_an_extension_has_that_of_its_mime_type(mime_type, extension, kind):
    file = LocalFile(name="plot", content=b"a", mime_type=mime_type)
    assert (file.extension, file.type) == (extension, kind)


@pytest.mark.parametrize(
    ("name", "size", "problem"),
    [
        ("chart", 1, "chart: expected a name with an extension such as .png, which tells Dify"),
        ("none.png", None, "none.png: expected a file that can be read: No such file"),
        ("empty.png", 0, "empty.png: expected a file that is not empty"),
        ("big.png", 10 * MB + 1, "10.0 MB; Dify takes a file of type image of up to 10 MB"),
        ("big.pdf", 16 * MB, "16.0 MB; Dify takes a file of type document of up to 15 MB"),
        ("big.mp4", 101 * MB, "101.0 MB; Dify takes a file of type video of up to 100 MB"),
        ("a\0.png", None, "expected a path"),
    ],
)
def test_a_file_that_dify_would_not_take_is_refused_with_the_reason(tmp_path, name, size, problem):
    path = tmp_path / name
    if size is not None:
        with path.open("wb") as file:
            file.truncate(size)
    with pytest.raises(FileInputError) as caught:
        LocalFile.read(path)
    assert problem in str(caught.value)
    assert caught.value.file
    assert str(caught.value).endswith(caught.value.problem)


def test_a_folder_is_no_file(tmp_path):
    folder = tmp_path / "a.png"
    folder.mkdir()
    with pytest.raises(FileInputError, match="expected a file that can be read: Is a directory"):
        LocalFile.read(folder)

"""A package that the marketplace takes, and changes to it."""

import zipfile


MANIFEST = "manifest.yaml"
README = """# Echo

![What it looks like](_assets/icon.svg) says again what it is told, for as long as anybody talks to it.

## Setup

Install it and enter an API key. It [connects](#setup) to the host that you name; see [what it keeps](./PRIVACY.md "Privacy").

## Usage

Talk to it.

```sh
echo 你好 [nowhere](nowhere.md)
```

## Support

Ask at <https://github.com/tests/echo/issues>, or look [elsewhere](https://example.org/x).
"""


def good_files(path):
    """Return the files of the model plugin's package at `path`, changed so that the marketplace takes it."""
    with zipfile.ZipFile(path) as archive:
        files = {path: archive.read(path).decode() for path in archive.namelist() if not path.endswith(".whl")}  # fmt: skip
        wheels = {path: archive.read(path) for path in archive.namelist() if path.endswith(".whl")}
    named = "author: tests\nrepo: https://github.com/tests/echo\ncontact: tests@example.org"
    files[MANIFEST] = files[MANIFEST].replace("author: tests", named)
    files[MANIFEST] = files[MANIFEST].replace("entrypoint: main }", "entrypoint: main }, minimum_dify_version: 1.10.0")  # fmt: skip
    files["README.md"] = README
    files["PRIVACY.md"] = "Nothing is stored or shared.\n"
    return {**{path: text.encode() for path, text in files.items()}, **wheels}


def swap(path, old, new):
    """Make a change: other text in one file, wherever it stands there."""

    def spoil(files):
        text = files[path].decode()
        assert old in text
        files[path] = text.replace(old, new).encode()

    return spoil


def add(path, content):
    """Make a change: one file more, or with another content."""
    return lambda files: files.update({path: content.encode()})


def drop(path):
    """Make a change: one file less."""
    return lambda files: files.pop(path)

import inspect
import subprocess
import sys
from importlib.metadata import version

import stream_text


def test_the_export_list_is_sorted_and_complete():
    public = {
        name
        for name, value in vars(stream_text).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert set(stream_text.__all__) == public
    assert stream_text.__all__ == sorted(stream_text.__all__, key=_constants_first)


def _constants_first(name):
    rank = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return rank, name


def test_every_public_name_is_documented():
    undocumented = [
        name
        for name in stream_text.__all__
        if callable(getattr(stream_text, name)) and not getattr(stream_text, name).__doc__
    ]

    assert undocumented == []


def test_every_error_descends_from_the_root():
    errors = [
        value
        for value in vars(stream_text).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]

    assert all(issubclass(error, stream_text.StreamTextError) for error in errors)


def test_the_package_knows_its_version():
    assert version("gpt5-stream-text").count(".") == 2


def test_what_acts_on_the_process_is_imported_by_whoever_wants_it():
    code = "import sys, stream_text; print({'asyncio', 'threading', 'stream_text.signals', 'stream_text.stdout'} & sys.modules.keys())"

    shown = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert shown == "set()\n"

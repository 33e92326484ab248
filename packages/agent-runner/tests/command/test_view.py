import base64
import json
import os
import pty
import subprocess
import sys
import termios
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image


COMMAND = str(Path(sys.executable).with_name("agent-runner"))
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _square():
    file = BytesIO()
    Image.new("RGB", (80, 80), "red").save(file, format="PNG")
    return base64.b64encode(file.getvalue()).decode()


def _image(**fields):
    return f"print({json.dumps(json.dumps({'type': 'image_output'} | fields))})\n"


def _on_terminal(folder, *options, columns=80, **environment):
    """Run a command on a terminal and return all that appeared there."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    process = subprocess.Popen(
        [COMMAND, "run", folder, "--input", "{}", *options],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color"} | environment,
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # how a terminal says that nobody writes any more
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return shown.decode()


def _run(folder, *options):
    return subprocess.run(
        [COMMAND, "run", folder, "--input", "{}", *options],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_terminal_shows_that_something_goes_on_and_leaves_no_trace_of_it(make_agent):
    shown = _on_terminal(make_agent("print('one')\nprint('two')"))
    assert "running for 0 s, 0 outputs" in shown
    lines = [line.rpartition("\x1b[2K")[2] for line in shown.split("\r\n")]
    assert lines[:2] == ["one", "two"]
    assert lines[2].startswith("\x1b[32msucceeded in ")


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}])
def test_a_simple_terminal_is_spared_it(make_agent, environment):
    assert "running for" not in _on_terminal(make_agent("print('one')"), **environment)


def test_machines_are_spared_it(make_agent):
    assert "running for" not in _on_terminal(make_agent("print('one')"), "--json")


def test_control_characters_do_not_reach_the_terminal(make_agent):
    script = "import json, sys\n" + "".join(
        f"print({text!r}); print({text!r}, file=sys.stderr); print(json.dumps({{'a': {text!r}}}))\n"
        for text in ["\x1b]0;title\x07", "\x9b2J", "a\rb", "\x08", "\u202e"]
    )
    shown = _on_terminal(make_agent(script + _image(mimeType="\x1b[2J")))
    for control in ["\x1b]", "\x07", "\x9b", "\x1b[2J", "a\rb", "\x08", "\u202e"]:
        assert control not in shown


def test_an_image_is_drawn_on_a_terminal(make_agent):
    shown = _on_terminal(make_agent(_image(data=_square(), mimeType="image/png")))
    assert "▀" in shown
    assert "[image" not in shown


def test_a_terminal_that_gives_nonsense_for_an_answer_gets_a_line(make_agent):
    assert "[image " in _on_terminal(make_agent(_image(data=PIXEL)), columns=0)


def test_an_image_in_a_pipe_is_a_line(make_agent):
    done = _run(make_agent(_image(data=PIXEL, mimeType="image/png")))
    assert done.stdout == "[image image/png, 70 bytes]\n"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ("not base64", "[image image/png, 7 bytes, broken: its data is no base64]"),
        ("東", "[image image/png, 0 bytes, broken: its data is no base64]"),
        ("", "[image image/png, 0 bytes, broken: its data is no base64]"),
        (
            base64.b64encode(b"no image").decode(),
            "[image image/png, 8 bytes, broken: it cannot be decoded]",
        ),
        (PIXEL[:60], "[image image/png, 45 bytes, broken: it cannot be decoded]"),
    ],
)
def test_a_broken_image_is_a_line_that_says_so(make_agent, data, line):
    assert line in _on_terminal(make_agent(_image(data=data, mimeType="image/png")))


def test_images_are_saved_beside_those_that_are_there(make_agent, tmp_path):
    images = tmp_path / "deep" / "images"
    agent = make_agent(_image(data=PIXEL, mimeType="image/png") * 2)
    _run(agent, "--save-images", images)
    (images / "image-1.png").unlink()
    done = _run(agent, "--save-images", images)
    names = sorted(path.name for path in images.iterdir())
    assert names == ["image-2.png", "image-3.png", "image-4.png"]
    assert (images / "image-3.png").read_bytes() == base64.b64decode(PIXEL)
    assert f"[image image/png, 70 bytes, saved as {images}/image-3.png]" in done.stdout


def test_nothing_that_a_script_says_goes_into_a_files_name(make_agent, tmp_path):
    _run(make_agent(_image(data=PIXEL, mimeType="../../x")), "--save-images", tmp_path / "images")
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["image-1.bin"]


def test_a_drawn_image_that_is_saved_has_its_line_too(make_agent, tmp_path):
    agent = make_agent(_image(data=_square(), mimeType="image/png"))
    shown = _on_terminal(agent, "--save-images", tmp_path / "images")
    assert "▀" in shown
    assert "saved as" in shown


def test_a_folder_that_images_cannot_be_saved_to_is_told(make_agent, tmp_path):
    (tmp_path / "file").touch()
    done = _run(make_agent(_image(data=PIXEL)), "--save-images", tmp_path / "file")
    assert "expected a folder to write images to" in done.stderr
    assert done.returncode == 2


def test_without_the_extra_an_image_is_a_line(make_agent):
    code = "import sys; sys.modules['textual_image'] = None; from agent_runner._command import main; main()"
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code, "run", make_agent(_image(data=PIXEL)), "--input", "{}"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    assert b"[image of unknown type, 70 bytes]" in os.read(ours, 65536)
    os.close(ours)
    assert done.returncode == 0

import base64
import json
import os
import pty
import re
import subprocess
import sys
from io import BytesIO

import pytest
from PIL import Image


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _square():
    file = BytesIO()
    Image.new("RGB", (80, 80), "red").save(file, format="PNG")
    return base64.b64encode(file.getvalue()).decode()


def _image(**fields):
    return f"print({json.dumps(json.dumps({'type': 'image_output'} | fields))})\n"


def test_a_terminal_shows_that_something_goes_on_and_leaves_no_trace_of_it(
    make_agent, run_on_terminal
):
    shown = run_on_terminal(make_agent("print('one')\nprint('two')"))
    assert re.search(r"running for \d+ s, 0 outputs", shown)
    lines = [line.rpartition("\x1b[2K")[2] for line in shown.split("\r\n")]
    assert lines[:2] == ["one", "two"]
    assert lines[2].startswith("\x1b[32msucceeded in ")


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}])
def test_a_simple_terminal_is_spared_it(make_agent, environment, run_on_terminal):
    assert "running for" not in run_on_terminal(make_agent("print('one')"), environment=environment)


def test_machines_are_spared_it(make_agent, run_on_terminal):
    assert "running for" not in run_on_terminal(make_agent("print('one')"), "--json")


def test_control_characters_do_not_reach_the_terminal(make_agent, run_on_terminal):
    script = "import json, sys\n" + "".join(
        f"print({text!r}); print({text!r}, file=sys.stderr); print(json.dumps({{'a': {text!r}}}))\n"
        for text in ["\x1b]0;title\x07", "\x9b2J", "a\rb", "\x08", "\u202e"]
    )
    shown = run_on_terminal(make_agent(script + _image(mimeType="\x1b[2J")))
    for control in ["\x1b]", "\x07", "\x9b", "\x1b[2J", "a\rb", "\x08", "\u202e"]:
        assert control not in shown


def test_an_image_is_drawn_on_a_terminal(make_agent, run_on_terminal):
    shown = run_on_terminal(make_agent(_image(data=_square(), mimeType="image/png")))
    assert "▀" in shown
    assert "[image" not in shown


def test_a_terminal_that_gives_nonsense_for_an_answer_gets_a_line(make_agent, run_on_terminal):
    assert "[image " in run_on_terminal(make_agent(_image(data=PIXEL)), columns=0)


def test_an_image_in_a_pipe_is_a_line(make_agent, run_command):
    done = run_command("run", "--input", "{}", make_agent(_image(data=PIXEL, mimeType="image/png")))
    assert done.stdout == b"[image image/png, 70 bytes]\n"


BROKEN = [
    ("not base64", "[image image/png, 7 bytes, broken: its data is not base64]"),
    ("東", "[image image/png, 0 bytes, broken: its data is not base64]"),
    ("", "[image image/png, 0 bytes, broken: its data is not base64]"),
    (
        base64.b64encode(b"no image").decode(),
        "[image image/png, 8 bytes, broken: it cannot be decoded]",
    ),
    (PIXEL[:60], "[image image/png, 45 bytes, broken: it cannot be decoded]"),
]


def test_a_broken_image_is_a_line_that_says_so(make_agent, run_on_terminal):
    script = "".join(_image(data=data, mimeType="image/png") for data, _ in BROKEN)
    shown = run_on_terminal(make_agent(script))
    assert re.findall(r"\[image[^]]*\]", shown) == [line for _, line in BROKEN]


def test_images_are_saved_beside_those_that_are_there(make_agent, tmp_path, run_command):
    images = tmp_path / "deep" / "images"
    agent = make_agent(_image(data=PIXEL, mimeType="image/png") * 2)
    run_command("run", "--input", "{}", agent, "--save-images", images)
    (images / "image-1.png").unlink()
    done = run_command("run", "--input", "{}", agent, "--save-images", images)
    names = sorted(path.name for path in images.iterdir())
    assert names == ["image-2.png", "image-3.png", "image-4.png"]
    assert (images / "image-3.png").read_bytes() == base64.b64decode(PIXEL)
    assert f"[image image/png, 70 bytes, saved as {images}/image-3.png]" in done.stdout.decode()


def test_nothing_that_a_script_says_goes_into_a_files_name(make_agent, tmp_path, run_command):
    run_command(
        "run",
        "--input",
        "{}",
        make_agent(_image(data=PIXEL, mimeType="../../x")),
        "--save-images",
        tmp_path / "images",
    )
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["image-1.bin"]


def test_a_drawn_image_that_is_saved_has_its_line_too(make_agent, tmp_path, run_on_terminal):
    agent = make_agent(_image(data=_square(), mimeType="image/png"))
    shown = run_on_terminal(agent, "--save-images", tmp_path / "images")
    assert "▀" in shown
    assert "saved as" in shown


def test_a_folder_that_images_cannot_be_saved_to_is_told(make_agent, tmp_path, run_command):
    (tmp_path / "file").touch()
    done = run_command(
        "run", "--input", "{}", make_agent(_image(data=PIXEL)), "--save-images", tmp_path / "file"
    )
    assert b"expected a folder to write images to" in done.stderr
    assert done.returncode == 2


def test_without_the_extra_an_image_is_a_line(make_agent, read_terminal):
    code = "import sys; sys.modules['textual_image'] = None; from agent_runner._command.cli import main; main()"
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code, "run", make_agent(_image(data=PIXEL)), "--input", "{}"],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(theirs)
    assert b"[image of unknown type, 70 bytes]" in read_terminal(ours)
    assert done.returncode == 0

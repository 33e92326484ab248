import base64
import json
from functools import partial

import pytest


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
def chat(dify_host, monkeypatch, plugins):
    """Run `dify-host chat` in this process; return exit code, stdout and stderr."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.chdir(plugins.parent)
    (plugins.parent / "chart.png").write_bytes(PNG)
    (plugins.parent / "a.pdf").write_bytes(b"%PDF-")
    return partial(dify_host, "chat")


@pytest.fixture
def events(chat):
    def run(*arguments):
        code, out, err = chat("--json", *arguments)
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    return run


def test_files_go_with_a_question(events):
    start, said, _ = events("fetch", "--file", "chart.png", "--file", "a.pdf")
    assert start["files"] == ["chart.png", "a.pdf"]
    chart, paper = json.loads(said["text"])
    assert (chart["filename"], chart["length"]) == ("chart.png", len(PNG))
    assert (paper["type"], paper["length"]) == ("document", 5)


def test_the_files_are_named_on_the_screen(chat):
    assert "files: chart.png\n" in chat("params", "--file", "chart.png")[1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--file", "none.png"], "--file none.png: expected a file that can be read"),
        (["--file", "plugins"], "--file plugins: expected a name with an extension"),
        (["--file", "chart.png", "--strategy", "quiet"], "--file chart.png: strategy 'quiet'"),
        (["--file", "chart.png", "--direct"], "--file chart.png: model 'echo-2' has no feature"),
    ],
)
def test_a_file_that_cannot_go_with_it_is_told_by_the_option(chat, arguments, problem):
    code, _, err = chat("hello", *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"dify-host: error: {problem}")


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("MULTIMODAL_SEND_FORMAT", "raw", "expected base64 or url, got 'raw'"),
        ("FILES_ACCESS_TIMEOUT", "soon", "expected a whole number from 1, got 'soon'"),
    ],
)
def test_a_variable_of_dify_that_says_nothing_is_refused(
    chat, monkeypatch, variable, value, problem
):
    monkeypatch.setenv(variable, value)
    code, _, err = chat("hello")
    assert (code, err) == (2, f"dify-host: error: {variable}: {problem}\n")


BLOB = {"type": "blob", "message": {"blob": base64.b64encode(PNG).decode()}}
GIVEN = [
    {**BLOB, "meta": {"mime_type": "image/png", "filename": "../../plot one.png"}},
    {**BLOB, "meta": {}},
    {"type": "image_link", "message": {"text": "https://example.com/a.png"}},
]


def test_the_files_of_an_answer_are_saved_where_it_is_asked_for(events, tmp_path):
    folder = tmp_path / "out" / "here"
    question = f"give {json.dumps(GIVEN)}"
    for paths in (["plot_one.png", "file.png"], ["plot_one-2.png", "file-2.png"]):
        plot, plain, link = events(question, "--save-files", folder)[1:-1]
        assert [plot["event"], plain["event"], link["event"]] == ["file", "file", "message"]
        assert [plot["path"], plain["path"]] == [str(folder / path) for path in paths]
        assert (folder / paths[0]).read_bytes() == PNG
        assert (plain["mime_type"], plain["size_bytes"]) == ("image/png", len(PNG))
    assert sorted(path.name for path in folder.parent.iterdir()) == ["here"]


def test_what_is_no_file_is_a_message_as_before(events):
    given = [{"type": "json", "message": {"json_object": {"a": 1}}}]
    (message,) = events(f"give {json.dumps(given)}")[1:-1]
    assert (message["event"], message["type"]) == ("message", "json")


def test_the_files_of_an_answer_are_shown_and_not_saved_unasked(chat):
    _, out, _ = chat(f"give {json.dumps(GIVEN[:1])}")
    shown = f"[file] ../../plot one.png (image/png, {len(PNG)} bytes): --save-files DIR saves it"
    assert shown in out.splitlines()


def test_a_saved_file_is_named_on_the_screen(chat, tmp_path):
    _, out, _ = chat(f"give {json.dumps(GIVEN[:1])}", "--save-files", tmp_path / "out")
    assert f"bytes): saved as {tmp_path / 'out' / 'plot_one.png'}" in out


def test_a_folder_that_cannot_be_written_is_told_by_the_option(chat, tmp_path):
    (tmp_path / "taken").write_text("")
    code, _, err = chat(f"give {json.dumps(GIVEN[:1])}", "--save-files", tmp_path / "taken")
    assert code == 2
    assert f"--save-files {tmp_path / 'taken'}: expected a folder to write files to" in err


def test_a_file_that_a_strategy_uploaded_is_one_of_the_answer(events, tmp_path, plugins):
    main = plugins / "small_agent" / "main.py"
    shown = "        text(request, json.dumps(SHOWN[word](request, rest)))\n"
    linked = '        made = SHOWN[word](request, rest)[1]\n        message(request, "image_link", {"text": made["preview_url"]})\n'
    main.write_text(main.read_text().replace(shown, linked))
    asked = {"name": "a.png", "type": "image/png", "hex": PNG.hex()}
    (made,) = events(f"upload {json.dumps(asked)}", "--save-files", tmp_path / "out")[1:-1]
    assert (made["event"], made["name"]) == ("file", "a.png")
    assert (tmp_path / "out" / "a.png").read_bytes() == PNG


def test_a_model_is_asked_without_an_agent(events, chat, plugins):
    (plugins / "small_agent" / "manifest.yaml").unlink()
    asked = ("request", "--direct", "--model", "echo-3", "--file", "chart.png", "--effort", "low")
    start, _, said, finish = events(*asked, "--instruction", "Be brief.")
    assert (start["strategy"], start["tools"], start["files"]) == (None, [], ["chart.png"])
    request = json.loads(said["text"])
    system, user = request["prompt_messages"]
    assert (system["role"], system["content"]) == ("system", "Be brief.")
    assert base64.b64decode(user["content"][0]["base64_data"]) == PNG
    assert request["model_parameters"] == {"reasoning_effort": "low"}
    assert (finish["total_tokens"], finish["metadata"]["stop_reason"]) == (15, "stop")
    _, out, _ = chat("hello", "--direct")
    assert out.startswith("echo-2, answered by OpenAI at https://api.openai.com/v1\n\nRound 1\n")


def test_a_model_gets_a_link_where_dify_is_set_to_send_them(events, monkeypatch):
    monkeypatch.setenv("MULTIMODAL_SEND_FORMAT", "url")
    _, _, said, _ = events("request", "--direct", "--model", "echo-3", "--file", "chart.png")
    (user,) = json.loads(said["text"])["prompt_messages"]
    assert user["content"][0]["url"].startswith("http://127.0.0.1:")


def test_what_a_model_paints_is_a_file_of_the_answer(events):
    image = {"type": "image", "format": "png", "mime_type": "image/png", "filename": "p.png"}
    parts = [
        {"type": "text", "data": "Here: "},
        {**image, "base64_data": base64.b64encode(PNG).decode()},
        {**image, "base64_data": "*"},
        {**image, "url": "https://example.com/p.png"},
    ]
    _, _, text, made, broken, link, _ = events(f"paint {json.dumps(parts)}", "--direct")
    assert text["text"] == "Here: "
    assert (made["event"], made["name"], made["size_bytes"]) == ("file", "p.png", len(PNG))
    assert (broken["event"], broken["type"]) == ("message", "blob")
    assert link["message"] == {"text": "https://example.com/p.png"}


def test_a_model_that_declares_polling_is_polled(events, plugins):
    main = plugins / "echo_model" / "main.py"
    said = main.read_text().replace('"structured-output"]', '"polling"]')
    polled = """        elif request["data"]["action"] == "start_polling":
            state = {"id": "1"}
            wire.stream(request, {"status": "running", "plugin_state": state})
        elif request["data"]["action"] == "check_polling":
            message = {"role": "assistant", "content": "At last."}
            result = {"model": "echo-2", "message": message, "usage": USAGE}
            wire.stream(request, {"status": "succeeded", "result": result})
        else:
            answer"""
    main.write_text(said.replace("        else:\n            answer", polled))
    _, _, wait, text, finish = events("hello", "--direct")
    assert (wait["event"], wait["type"]) == ("message", "polling")
    assert wait["message"] == {"attempt": 0, "next_check_after_seconds": 1.0}
    assert text["text"] == "At last."
    assert (finish["answer"], finish["total_tokens"]) == ("At last.", 15)


def test_a_model_that_fails_says_why(chat):
    _, _, err = chat("fail InvokeAuthorizationError no", "--direct")
    assert "refused the key; expected a valid one in OPENAI_API_KEY" in err


@pytest.mark.parametrize(
    "option",
    [
        ("--strategy", "steps"),
        ("--tools", "a.py"),
        ("--max-iterations", "3"),
        ("--run-log", "runs"),
        ("--max-total-tokens", "3"),
    ],
)
def test_what_is_for_agents_does_not_go_with_direct(chat, option):
    code, _, err = chat("hello", "--direct", *option)
    assert code == 2
    assert option[0] in err
    assert "expected either this or --direct, not both" in err

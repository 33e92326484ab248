import json
import os
import pty
import sys
import zipfile

import httpx
import pytest


pytestmark = pytest.mark.usefixtures("state")

SAID, CHANGED = "chunk(request, said, usage=USAGE)", 'chunk(request, "new: " + said, usage=USAGE)'
# A tool that does what an author does: it edits the model's code while a run goes on.
EDITS = """
def edit(path: str, old: str, new: str) -> str:
    '''Edit a file.

    Args:
        path: The file.
        old: What is in it.
        new: What shall be in it.
    '''
    with open(path) as file:
        text = file.read()
    assert old in text
    with open(path, "w") as file:
        file.write(text.replace(old, new))
    return "edited"
"""


def edit(path, old=SAID, new=CHANGED):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_served_plugin_is_started_again_once_its_files_have_changed(serve, plugins):
    main = plugins / "echo_model" / "main.py"

    def talk(host):
        answers = [host.ask("hello")]
        edit(main)
        answers.append(host.ask("hello"))
        told = [host.event()]
        edit(main, "def main():", "def main(:")
        answers.append(host.ask("hello"))
        return answers, [*told, host.event()]

    answers, told = serve("--reload", "--json", talk=talk)
    assert answers == ["hello", "new: hello", "new: hello"]
    assert [(event["event"], event["plugin"], event["level"]) for event in told] == [
        ("notice", "echo_model", "INFO"),
        ("notice", "echo_model", "ERROR"),
    ]
    assert told[0]["text"] == "main.py changed: started again"
    assert "SyntaxError" in told[1]["text"]


def test_people_are_told_too(serve, plugins):
    def talk(host):
        lines = host.read("serving on")
        key = host.read("export ")[-1].rpartition("=")[2]
        edit(plugins / "echo_model" / "main.py")
        url = f"{lines[-1].split()[-1]}/plugin/t/management/tools?page=1&page_size=9"
        httpx.get(url, headers={"X-Api-Key": key}, timeout=120)
        return host.read("echo_model: ")[-1]

    assert serve("--reload", talk=talk) == "echo_model: INFO: main.py changed: started again"


def test_without_the_option_a_plugin_stays_as_it_was_started(serve, plugins):
    def talk(host):
        assert host.ready
        edit(plugins / "echo_model" / "main.py")
        return host.ask("hello")

    assert serve("--json", talk=talk) == "hello"


def test_a_tool_that_is_new_is_listed(serve, make_plugin):
    folder = make_plugin(
        "wire.ready()\nfor request in wire.requests():\n    pass\n",
        plugins={"tools": ["p.yaml"]},
    )

    def declare(*names):
        tools = [{"identity": {"name": name}} for name in names]
        (folder / "p.yaml").write_text(json.dumps({"identity": {"name": "p"}, "tools": tools}))

    def listed(host):
        url = f"{host.ready['base_url']}/plugin/t/management/tools?page=1&page_size=9"
        headers = {"X-Api-Key": host.ready["api_key"]}
        (entry,) = httpx.get(url, headers=headers, timeout=120).json()["data"]
        return [tool["identity"]["name"] for tool in entry["declaration"]["tools"]]

    def talk(host):
        before = listed(host)
        declare("first", "second")
        return before, listed(host)

    declare("first")
    assert serve(folder, "--reload", "--json", talk=talk) == (["first"], ["first", "second"])


def test_a_package_that_is_written_anew_is_installed_anew(serve, packages, tmp_path):
    path = tmp_path / "echo_model.difypkg"
    with zipfile.ZipFile(packages / "echo_model.difypkg") as given:
        files = {name: given.read(name) for name in given.namelist()}

    def write():
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)

    def talk(host):
        before = host.ask("hello")
        files["main.py"] = files["main.py"].replace(SAID.encode(), CHANGED.encode())
        write()
        after = host.ask("hello")
        path.unlink()
        return before, after, host.ask("hello"), host.event(), host.event()

    write()
    *answers, renewed, broken = serve(path, "--reload", "--json", talk=talk)
    assert answers == ["hello", "new: hello", "new: hello"]
    assert renewed["text"] == "echo_model.difypkg changed: started again"
    assert "no such file; expected a .difypkg file" in broken["text"]


@pytest.fixture
def chat(dify_host, monkeypatch, plugins, tmp_path):
    """Run `chat --json` with stdin at hand; return exit code, events and stderr."""
    monkeypatch.chdir(plugins.parent)
    (tmp_path / "edits.py").write_text(EDITS)
    kept = os.dup(0)

    def run(*arguments, stdin):
        os.dup2(stdin, 0)
        os.close(stdin)
        options = ["--json", "--tools", tmp_path / "edits.py", *arguments]
        code, out, err = dify_host("chat", *options)
        return code, [json.loads(line) for line in out.splitlines()], err

    yield run
    os.dup2(kept, 0)
    os.close(kept)


def piped(text):
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return reading


def of(kind, events):
    return [event for event in events if event["event"] == kind]


def test_each_line_is_a_question_and_an_empty_one_asks_again(chat):
    code, events, _ = chat("--reload", stdin=piped("\nhello\n\nbye"))
    assert code == 0
    assert [event["answer"] for event in of("finish", events)] == ["hello", "hello", "bye"]
    assert len(of("start", events)) == 3


def test_lines_may_come_from_a_file(chat, tmp_path):
    (tmp_path / "questions.txt").write_text("hello\n")
    stdin = os.open(tmp_path / "questions.txt", os.O_RDONLY)
    code, events, _ = chat("--reload", stdin=stdin)
    assert (code, [event["answer"] for event in of("finish", events)]) == (0, ["hello"])


def test_without_a_stdin_nothing_is_asked(chat, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert chat("--reload", stdin=piped("hello\n")) == (0, [], "")


def test_a_question_that_fails_does_not_end_the_others(chat):
    code, events, _ = chat("--reload", stdin=piped("fail InvokeError out of ink\nhello\n"))
    assert code == 0
    (error,) = of("error", events)
    assert "out of ink" in error["message"]
    assert of("finish", events)[-1]["answer"] == "hello"


def test_a_question_on_the_command_line_is_the_only_one_where_nobody_sits_at_stdin(chat):
    code, events, _ = chat("hello", "--reload", stdin=piped("more\n"))
    assert (code, [event["answer"] for event in of("finish", events)]) == (0, ["hello"])
    code, events, _ = chat("fail InvokeError out of ink", "--reload", stdin=piped("more\n"))
    assert code == 1
    assert len(of("error", events)) == 1


def test_at_a_terminal_it_is_the_first_one(chat):
    terminal, stdin = pty.openpty()
    os.write(terminal, b"\nbye\n\x04")
    code, events, err = chat("hello", "--reload", stdin=stdin)
    os.close(terminal)
    assert (code, [event["answer"] for event in of("finish", events)]) == (
        0,
        ["hello", "hello", "bye"],
    )
    assert err.count("Enter asks again; another question, or Ctrl-D to end:") == 3


def test_what_waits_for_approval_is_answered_in_the_same_conversation(chat):
    code, events, err = chat("ask", stdin=piped("ask\n\n"))
    answers = [event["answer"] for event in of("finish", events)]
    (first, user, before), (second, same_user, history) = map(json.loads, answers[:2])
    assert (code, before, answers[2:], err) == (0, [], ["no"], "")  # An empty line denies.
    assert first
    assert user
    assert (second, same_user) == (first, user)
    assert [(turn["role"], turn["content"]) for turn in history] == [
        ("user", "ask"),
        ("assistant", answers[0]),
    ]


def test_at_a_terminal_an_answer_is_asked_for_and_the_end_leaves_the_question_open(chat):
    terminal, stdin = pty.openpty()
    os.write(terminal, b"\x04")
    code, events, err = chat("ask", stdin=stdin)
    os.close(terminal)
    assert (code, len(of("finish", events))) == (0, 1)
    assert err == "Your answer; Enter denies, Ctrl-D leaves it open:\n"


def test_each_question_is_a_conversation_of_its_own_with_its_answers(chat):
    _, events, _ = chat("--reload", stdin=piped("ask\nbye\nask\nyes\n"))
    asked, bye, again, yes = (event["answer"] for event in of("finish", events))
    assert (bye, yes) == ("bye", "yes")
    assert json.loads(asked)[0] != json.loads(again)[0]
    assert json.loads(again)[2] == []


def test_a_model_that_changes_during_a_run_is_started_again_between_its_rounds(chat, plugins):
    arguments = {"path": str(plugins / "echo_model" / "main.py")}
    arguments |= {"old": '"results: "', "new": '"new results: "'}
    question = f"call edit {json.dumps(arguments)}"
    code, events, _ = chat(question, "--reload", stdin=piped(""))
    assert code == 0
    (notice,) = of("notice", events)
    assert notice == {
        "event": "notice",
        "plugin": "echo_model",
        "level": "INFO",
        "text": "main.py changed: started again",
    }
    (finish,) = of("finish", events)
    assert finish["answer"].startswith("new results: ")

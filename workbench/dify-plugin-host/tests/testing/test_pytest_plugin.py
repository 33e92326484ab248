"""The fixtures, in a pytest of their own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest


pytest_plugins = ["pytester"]

KEY = "let-me-in, please"


@pytest.fixture
def run(pytester, desk_folder, monkeypatch):
    """Run tests of the tool plugin, whose key is in the environment; return the result."""
    monkeypatch.setenv("DESK_KEY", KEY)

    def run_tests(code, *options, plugin=f"--dify-plugin={desk_folder}", **files):
        pytester.makepyfile(test_it=code, **files)
        return pytester.runpytest(*[plugin] * bool(plugin), "-p", "no:cacheprovider", *options)

    return run_tests


def text_of(result):
    return "\n".join([*result.outlines, *result.errlines])


def test_the_plugin_is_started_once_for_all_modules_and_forgets_each_test(run):
    code = """
        from pathlib import Path

        def test_first(dify_plugin):
            Path("pid").write_text(str(dify_plugin.host.plugins[0].pid))
            assert dify_plugin.storage.setdefault("a", b"1") == b"1"
            assert dify_plugin.tool("say").invoke(messages="[]") == []

        def test_second(dify_plugin):
            assert dify_plugin.storage == {}
            assert dify_plugin.log == ""
        """
    other = """
        from pathlib import Path

        def test_third(dify_plugin):
            assert Path("pid").read_text() == str(dify_plugin.host.plugins[0].pid)
        """
    run(code, test_other=other).assert_outcomes(passed=3)


def test_a_failure_shows_messages_and_log_and_never_the_credentials(run):
    result = run(
        """
        import pytest
        from dify_plugin_host.testing import PluginInvokeError

        def test_wrong(dify_plugin):
            messages = dify_plugin.tool("repeat").invoke(text="hello")
            assert messages.text == "hello"

        def test_dead(dify_plugin):
            dify_plugin.tool("die").invoke()

        def test_refused(dify_plugin):
            print("hunter22")
            dify_plugin.validate(key="hunter22")

        def test_fine(dify_plugin):
            with pytest.raises(PluginInvokeError):
                dify_plugin.validate(key="hunter23")

        @pytest.mark.skip
        def test_skipped():
            pass
        """,
        "-rA",
    )
    result.assert_outcomes(passed=1, failed=3, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*Answers of desk*",
            "<Messages of 1 json=[[]*[[]redacted]*",
            "*PluginExitedError: plugin 'desk' ended with exit code 1; its stderr ends with: out of ink",
            "*before it came <Messages of 1 text='so far'>",
            "test_it.py:9: PluginExitedError",
            "*Log of desk*",
            "INFO: the key is [[]redacted]",
            "E*ToolProviderCredentialValidationError: wrong key: [[]redacted]",
            "FAILED test_it.py::test_refused - dify_plugin_host._errors.PluginInvokeError:*",
        ]
    )
    assert KEY not in text_of(result)
    assert not re.search('hunter2[23](?!")', text_of(result))


def test_a_snapshot_is_the_same_whatever_changes_from_run_to_run(run, pytester):
    code = """
        import json, time, uuid

        def test_snapshot(dify_plugin, dify_snapshot):
            log = {"id": uuid.uuid4().hex, "label": "l", "status": "start", "data": {}, "metadata": {"started_at": time.time()}}
            said = [("text", {"text": "one "}), ("text", {"text": str(uuid.uuid4())})]
            said += [("log", log), ("log", log | {"parent_id": log["id"]})]
            said += [("blob", {"blob": "UE5H"}), ("link", {"text": f"http://127.0.0.1:1234/files/{uuid.uuid4()}?sign=a"})]
            said += [("json", {"json_object": {"latency": None, "count": 2, "key": KEY}})]
            given = [{"type": kind, "message": content, "meta": None} for kind, content in said]
            messages = dify_plugin.tool("say").invoke(messages=json.dumps(given))
            assert messages == dify_snapshot
            storing = {"kind": "storage", "request": '{"opt": "exist", "key": "a"}'}
            assert dify_plugin.tool("back").invoke(**storing).calls_back == dify_snapshot
        """
    code = code.replace("KEY", repr(KEY))
    run(code, "--snapshot-update").assert_outcomes(passed=1)
    written = (pytester.path / "__snapshots__" / "test_it.ambr").read_text()
    for expected in (
        "'text': 'one <id 1>'",
        "'id': '<id 2>'",
        "'parent_id': '<id 2>'",
        "'started_at': '<time>'",
        "'blob': '<3 bytes, SHA-256 ",
        "'text': '<link 1>'",
        "'latency': None",
        "'key': '[redacted]'",
        "'exist_num': 0",
    ):
        assert expected in written
    run(code).assert_outcomes(passed=1)
    changed = run(code.replace("'count': 2", "'count': 3").replace('"count": 2', '"count": 3'))
    changed.assert_outcomes(failed=1)


def test_of_a_models_answer_a_snapshot_keeps_the_whole(run, pytester, shared_plugins):
    code = """
        def test_snapshot(dify_plugin, dify_snapshot):
            answer = dify_plugin.model("echo-1").invoke('call add {"a": 1}')
            assert answer == dify_snapshot
        """
    run(code, "--snapshot-update", plugin=f"--dify-plugin={shared_plugins / 'echo_model'}")
    written = (pytester.path / "__snapshots__" / "test_it.ambr").read_text()
    assert "'name': 'add'" in written
    assert "call_1" not in written


def test_snapshots_need_a_library_that_is_named(run):
    result = run("def test_it(dify_plugin, dify_snapshot): ...", "-p", "no:syrupy")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*dify_snapshot expects syrupy; install dify-plugin-host[[]pytest]"]
    )


def test_credentials_can_be_set_in_a_conftest(run):
    conftest = """
        import pytest

        @pytest.fixture(scope="session")
        def dify_credentials():
            return {"key": "of the conftest"}
        """
    code = """
        def test_it(dify_plugin):
            [data] = dify_plugin.tool("repeat").invoke().json
            assert data["credentials"] == {"key": "of the conftest"}
        """
    run(code, conftest=conftest).assert_outcomes(passed=1)


def test_the_plugin_is_the_one_around_the_tests_or_that_of_the_settings(pytester, desk_folder):
    code = "def test_it(dify_plugin): assert dify_plugin.folder.name == 'desk'"
    tests = pytester.mkdir("tests")
    (tests / "test_it.py").write_text(code)
    missing = pytester.runpytest()
    missing.assert_outcomes(errors=1)
    missing.stdout.fnmatch_lines(
        ["*there is no manifest.yaml above */tests/test_it.py or in *; expected*"]
    )
    pytester.makeini(f"[pytest]\ndify_plugin = {desk_folder}")
    pytester.runpytest().assert_outcomes(passed=1)
    (pytester.path / "tox.ini").unlink()
    for path in filter(Path.is_file, desk_folder.iterdir()):
        (pytester.path / path.name).write_bytes(path.read_bytes())
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_recording_is_made_once_and_used_from_then_on(run, shared_plugins):
    code = """
        def add(a: int) -> int:
            return a

        def test_it(dify_plugin, dify_recording):
            model = dify_recording.model("echo-1")
            strategy = dify_plugin.strategy("steps")
            messages = strategy.invoke(query="hello", model=model, tools=[add], instruction="Hi.")
            assert messages.text == "hello"
        """
    agent = f"--dify-plugin={shared_plugins / 'small_agent'}"
    run(code, plugin=agent).assert_outcomes(failed=1)
    beside = f"--dify-with={shared_plugins / 'echo_model'}"
    run(code, "--dify-record", beside, plugin=agent).assert_outcomes(passed=1)
    run(code, plugin=agent).assert_outcomes(passed=1)


def test_the_host_is_not_imported_for_nothing():
    program = "import _dify_plugin_host_pytest, sys; sys.exit('dify_plugin_host' in sys.modules)"
    subprocess.run([sys.executable, "-I", "-c", program], check=True)

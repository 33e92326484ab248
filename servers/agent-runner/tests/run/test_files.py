import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_runner import ConfigurationError, InputError


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SHOW = """
import hashlib, json, os, stat, sys
fields = json.load(sys.stdin)
for path in fields.get("files", []):
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    modes = [oct(stat.S_IMODE(os.stat(at).st_mode)) for at in (os.path.dirname(path), path)]
    print(json.dumps([path, digest, modes]))
print(json.dumps({"names": sorted(fields)}))
"""


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """Return where the folders of runs are; at the end there is none."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def run_files(make_runner):
    """Return a function that runs an agent with files and returns the values of its outputs and its result."""

    async def run(folder, files, fields=None, **settings):
        stream = make_runner(**settings).run(folder, fields or {}, files=files)
        async with aclosing(stream):
            *outputs, result = [output async for output in stream]
        return [getattr(output, "value", output) for output in outputs], result

    return run


async def test_a_script_finds_its_files_in_a_folder_that_nobody_else_can_enter(
    make_agent, run_files, scratch
):
    files = {"chart.png": PNG, "größe 1 (東).pdf": b"%PDF-", "-rf": b"", ".env": b"a"}
    (*found, names), result = await run_files(make_agent(SHOW), files)
    folder = scratch / f"agent-runner-{result.runner_request_id}"
    assert [Path(path) for path, _, _ in found] == [folder / name for name in files]
    digests = [hashlib.sha256(content).hexdigest() for content in files.values()]
    assert [digest for _, digest, _ in found] == digests
    assert {tuple(modes) for _, _, modes in found} == {("0o700", "0o600")}
    assert names == {"names": ["files", "runner_request_id"]}


OWN_FILES = {"properties": {"files": {"items": {"type": "string"}}}}


@pytest.mark.parametrize("files", [None, {}])
async def test_an_agent_may_declare_a_field_files_of_its_own(make_agent, run_files, files):
    script = "import json, sys; print(json.dumps(json.load(sys.stdin)['files']))"
    agent = make_agent(script, schema=OWN_FILES)
    assert (await run_files(agent, files, {"files": ["mine"]}))[0] == [["mine"]]


@pytest.mark.parametrize(
    ("schema", "given", "error"),
    [
        (None, ({"files": ["/etc/hostname"]}, None), "input.files: expected to be absent"),
        ({}, ({"files": []}, {"a": b""}), "input.files: expected to be absent"),
        ({"required": ["files"]}, ({"files": 1}, {}), "input.files: expected to be absent"),
        (OWN_FILES, ({"files": ["mine"]}, {"a": b""}), "files: expected none"),
        (OWN_FILES, ({}, {"a": b""}), "files: expected none"),
        (OWN_FILES, ({"files": [1]}, None), r"files\[0\]: expected type 'string'"),
    ],
)
def test_a_field_files_never_means_both_the_callers_and_the_runners(
    make_agent, make_runner, schema, given, error
):
    with pytest.raises(InputError, match=rf"\A{error}"):
        make_runner().run(make_agent("", schema=schema), given[0], files=given[1])


@pytest.mark.parametrize(
    ("files", "field", "message"),
    [
        ({"../a": b""}, "files['../a']", "without a folder"),
        ({"/etc/passwd": b""}, "files['/etc/passwd']", "without a folder"),
        ({"a\\b": b""}, "files['a\\\\b']", "without a folder"),
        ({"a\0": b""}, "files['a\\x00']", "without control characters"),
        ({"a\nb": b""}, "files['a\\nb']", "without control characters"),
        ({"\udcff": b""}, "files['\\udcff']", "without control characters"),
        ({"": b""}, "files['']", "of 1 to 200 bytes"),
        ({".": b""}, "files['.']", "of 1 to 200 bytes"),
        ({"..": b""}, "files['..']", "of 1 to 200 bytes"),
        ({"東" * 67: b""}, f"files['{'東' * 67}']", "of 1 to 200 bytes"),
        ({"a.png": b"", "A.PNG": b""}, "files", "differ by more than upper and lower case"),
        ({f"{n}": b"" for n in range(21)}, "files", "expected at most 20 files, got 21"),
        ({"a": bytes(8 * 1024 * 1024), "b": b"b"}, "files", "at most 8388608 bytes in all, got"),
    ],
)
def test_files_that_cannot_be_given_are_refused_at_once(
    make_agent, make_runner, files, field, message
):
    with pytest.raises(InputError) as caught:
        make_runner().run(make_agent("open('ran', 'w')"), {}, files=files)
    (problem,) = caught.value.problems
    assert problem.field == field
    assert message in problem.message


def _linked():
    return Path("/etc").stat().st_mode, Path("/etc/passwd").exists()


async def test_what_a_script_does_to_its_folder_goes_with_it(make_agent, run_files):
    script = """
        import json, os, sys
        path = os.path.dirname(json.load(sys.stdin)["files"][0])
        os.makedirs(f"{path}/sub/deep")
        open(f"{path}/sub/deep/made", "w").close()
        os.symlink("/etc", f"{path}/link")
        os.chmod(f"{path}/sub/deep", 0o500)
        os.chmod(f"{path}/sub", 0o000)
        os.chmod(path, 0o500)
    """
    before = _linked()
    assert (await run_files(make_agent(script), {"a": b""}))[1].status == "succeeded"
    assert _linked() == before


async def test_the_folder_is_gone_when_a_run_times_out_or_is_given_up(
    make_agent, make_runner, run_files
):
    sleep = make_agent("import time; print('go', flush=True); time.sleep(600)")
    _, result = await run_files(sleep, {"a": b"a"}, timeout_seconds=0.3, terminate_seconds=0)
    assert result.stop_reason == "timed_out"

    async with aclosing(make_runner().run(sleep, {}, files={"a": b"a"})) as outputs:
        await anext(outputs)


def test_the_folder_is_gone_though_the_runner_is_killed(make_agent, scratch):
    agent = make_agent("import time; print('go', flush=True); time.sleep(600)")
    program = f"""
        import asyncio, sys, tempfile
        from agent_runner import AgentRunner

        tempfile.tempdir = {str(scratch)!r}

        async def main():
            runner = AgentRunner(command=[sys.executable, "main.py"])
            async for output in runner.run({str(agent)!r}, {{}}, files={{"a": b"a"}}):
                print("runs", flush=True)

        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"runs\n"
        assert len(list(scratch.iterdir())) == 1
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 600
    while list(scratch.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)


async def test_a_folder_that_cannot_be_made_is_the_owners_business(
    make_agent, run_files, scratch, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(scratch / "none"))
    with pytest.raises(ConfigurationError, match="expected a folder to write a run's files to"):
        await run_files(make_agent(SHOW), {"a": b""})


async def test_what_lies_where_the_folder_belongs_is_not_followed(make_agent, make_runner, scratch):
    import uuid  # noqa: PLC0415

    run_id, kept = uuid.uuid4(), scratch.parent / "kept"
    kept.mkdir()
    (kept / "a").write_text("kept")
    link = scratch / f"agent-runner-{run_id}"
    link.symlink_to(kept)

    outputs = make_runner().run(make_agent(SHOW), {}, files={"a": b"new"}, runner_request_id=run_id)
    with pytest.raises(ConfigurationError, match="File exists"):
        await anext(outputs)
    assert (kept / "a").read_text() == "kept"
    link.unlink()


async def test_the_log_has_digests_of_the_files(make_agent, run_files):
    agent = make_agent(SHOW)
    await run_files(agent, {"chart.png": PNG})
    (path,) = (agent / "logs").iterdir()
    started = json.loads(path.read_text().splitlines()[0])
    digest = hashlib.sha256(PNG).hexdigest()
    assert started["files"] == [{"name": "chart.png", "bytes": len(PNG), "sha256": digest}]


@pytest.mark.parametrize("umask", [0, 0o077])
async def test_modes_do_not_depend_on_the_umask(make_agent, run_files, umask):
    old = os.umask(umask)
    try:
        (found, _), _ = await run_files(make_agent(SHOW), {"a": b"a"})
    finally:
        os.umask(old)
    assert found[2] == [oct(0o700), oct(stat.S_IRUSR | stat.S_IWUSR)]

"""A package against named versions of Dify, releases of the plugin SDK and a daemon's command line."""

import json
import zipfile

import pytest
from damages import base, drop, pack, put, swap


pytestmark = pytest.mark.usefixtures("state")

MODEL, AGENT = "echo_model", "small_agent"
MANIFEST, ECHO, STEPS = "manifest.yaml", "models/llm/echo-1.yaml", "strategies/steps.yaml"
POLLING = swap(ECHO, "features: [", "features: [polling, ")
ALLOWS_THE_SDK = put("pyproject.toml", "[project]\ndependencies = ['dify-plugin>=0.9,<0.10']\n")
OLD_SDK = put("pyproject.toml", "[project]\ndependencies = ['dify-plugin>=0.6,<0.7']\n")
# What Dify's command line says, recorded from programs of the releases 0.4.1, 0.5.3 and 0.6.9.
LOADING = '{"invoke_id":"","type":"info","response":{"info":"loading plugin"}}'
NO_UV = '{"invoke_id":"","type":"error","response":{"error":"failed to create virtual environment: fork/exec nowhere/uv: no such file or directory, output: \\ninitialize python environment error"}}'
NO_UV_BEFORE = '{"invoke_id":"","type":"error","response":{"error":"init environment for plugin langgenius/slack:0.4.0 failed too many times, you should consider the package is corrupted or your network is unstable"}}'
REFUSED = '{"invoke_id":"","type":"error","response":{"error":"yaml: unmarshal errors:\\n  line 1: cannot unmarshal !!map into manifest_entities.Version\\ndecode plugin file error"}}'
# As much of a release of the SDK as loads declarations.
SDK = {
    "yaml.py": "def safe_load(stream):\n    return stream.read()\n",
    "dify_plugin/__init__.py": "",
    "dify_plugin/core/__init__.py": "",
    "dify_plugin/core/plugin_registration.py": """
import yaml

class PluginRegistration:
    def __init__(self, config):
        with open("manifest.yaml") as stream:
            if "echo_model" in yaml.safe_load(stream):
                raise ValueError("name: too old for that")
""",
}


@pytest.fixture
def check(dify_host, monkeypatch, tmp_path):
    """Check a plugin with these changes against versions; return the exit code and the stage's results by name, or else the error."""
    monkeypatch.chdir(tmp_path)

    def run(plugin, *changes, against):
        files = base(plugin)
        for change in changes:
            change(files)
        (tmp_path / "p.difypkg").write_bytes(pack(files))
        named = [word for one in against for word in ("--against", one)]
        code, out, err = dify_host("check", "p.difypkg", "--quick", "--json", *named)
        run.results = [json.loads(line) for line in out.splitlines()]
        found = {one["name"]: one for one in run.results if one["stage"] == "versions"}
        return code, err or found

    return run


@pytest.fixture
def daemon(tmp_path):
    """Write a program that says this of any package; return its path."""

    def write(*lines, version="0.6.9"):
        said = "\n".join([f"if [ $1 = version ]; then echo {version}; exit; fi", "cat <<'END'", *lines, "END"])  # fmt: skip
        # It gets no PATH.
        path = tmp_path / "commandline"
        path.write_text(f"#!/bin/sh\n{said.replace('cat', '/bin/cat')}\n")
        path.chmod(0o755)
        return path

    return write


def kinds(result):
    return [finding["kind"] for finding in result["findings"]]


def test_a_line_of_dify_is_judged_by_its_newest_release(check):
    code, found = check(MODEL, POLLING, OLD_SDK, against=["1.14", "1.15.0"])
    assert (code, list(found)) == (1, ["Dify 1.14.2", "Dify 1.15.0"])
    (finding,) = found["Dify 1.14.2"]["findings"]
    assert finding["kind"] == "broken"
    assert finding["text"].startswith(f"{ECHO}: 'features': ")
    assert "would break in Dify 1.14.2: " in finding["text"]
    assert found["Dify 1.15.0"]["findings"] == []
    assert found["Dify 1.15.0"]["note"].startswith("by langgenius/dify at ")


def test_what_breaks_only_elsewhere_does_not_fail(check):
    assert check(MODEL, POLLING, OLD_SDK, against=["1.16"])[0] == 0
    assert check(MODEL, POLLING, OLD_SDK, against=[])[0] == 1


def test_all_are_the_newest_release_of_each_line_that_the_manifest_does_not_rule_out(check):
    asks = swap(MANIFEST, "runner:", "minimum_dify_version: 1.15.0, runner:")
    code, found = check(MODEL, POLLING, OLD_SDK, asks, against=["all"])
    skipped = [name for name, result in found.items() if result["is_skipped"]]
    assert (code, skipped) == (0, [f"Dify {one}" for one in ("1.10.1", "1.11.4", "1.12.1", "1.13.3", "1.14.2")])  # fmt: skip
    assert [name for name in found if name not in skipped] == [
        "Dify 1.15.0",
        "Dify 1.16.1",
        "Dify 1.17.0",
    ]
    assert found["Dify 1.10.1"]["note"] == "the manifest asks for 1.15.0"


def test_without_a_readable_manifest_no_version_is_judged(check):
    _, found = check(MODEL, drop(MANIFEST), against=["1.10", "sdk:0.9.0"])
    assert [result["is_skipped"] for result in found.values()] == [True, True]


@pytest.mark.parametrize("text", ["1.3", "2.0", "sdk:new", "nowhere", "."])
def test_an_unknown_version_is_bad_usage(check, text):
    code, told = check(MODEL, against=[text])
    assert code == 2
    assert f"--against {text}: expected " in told
    assert ("1.10, 1.11" in told) == (text in {"1.3", "2.0", "nowhere"})
    assert check.results == []


@pytest.mark.parametrize("lines", [(LOADING, NO_UV), (LOADING, NO_UV_BEFORE)])
def test_a_daemon_takes_what_its_command_line_can_unpack(check, daemon, lines):
    code, found = check(MODEL, against=[daemon(*lines).parent])
    assert (code, list(found), kinds(found["plugin daemon 0.6.9"])) == (0, ["plugin daemon 0.6.9"], [])  # fmt: skip


def test_what_a_daemon_refuses_is_told_in_its_words(check, daemon):
    code, found = check(MODEL, against=[daemon("not JSON", REFUSED, version="0.5.3")])
    (finding,) = found["plugin daemon 0.5.3"]["findings"]
    assert (code, finding["kind"]) == (1, "refused")
    assert "line 1: cannot unmarshal !!map into manifest_entities.Version" in finding["text"]


def test_another_program_than_the_command_line_is_bad_usage(check, daemon, tmp_path):
    code, told = check(MODEL, against=[daemon("hello")])
    assert (code, "expected Dify's command line" in told) == (2, True)
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    code, told = check(MODEL, against=[tmp_path / "text"])
    assert (code, "cannot be run: Exec format error" in told) == (2, True)


def write_sdk(folder, version, files):
    info = f"dify_plugin-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.2\nName: dify-plugin\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"dify_plugin-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.fixture
def sdks(monkeypatch, tmp_path):
    """Offer two releases of the SDK in place of an index: one that loads declarations, and one that has no loader."""
    for version, files in (("0.9.0", SDK), ("0.0.1", {"dify_plugin.py": ""})):
        write_sdk(tmp_path, version, files)
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("UV_OFFLINE", "1")


@pytest.mark.usefixtures("sdks")
def test_a_release_of_the_sdk_loads_the_declarations_itself(check, state):
    code, found = check(MODEL, against=["sdk:0.9.0"])
    broken, outside = found["plugin SDK 0.9.0"]["findings"]
    assert (code, broken) == (
        1,
        {"kind": "broken", "text": "manifest.yaml: name: too old for that"},
    )
    assert outside["kind"] == "advice"
    assert outside["text"].startswith(
        "pyproject.toml: 'dify-plugin': allows <0.11,>=0.10.1, not 0.9.0"
    )
    environments = list((state / "sdk").rglob("pyvenv.cfg"))
    assert len(environments) == 1
    # It is installed once.
    before = environments[0].stat().st_mtime_ns
    code, found = check(AGENT, ALLOWS_THE_SDK, against=["sdk:0.9.0"])
    assert (code, found["plugin SDK 0.9.0"]["findings"]) == (0, [])
    assert environments[0].stat().st_mtime_ns == before


@pytest.mark.usefixtures("sdks")
def test_a_release_of_the_sdk_that_cannot_be_asked_is_an_error(check):
    code, told = check(MODEL, against=["sdk:0.0.1"])
    assert (code, "sdk:0.0.1: its loader of declarations is not known" in told) == (2, True)
    for missing, near in (
        ("0.9.9", "sdk:0.9.1 or sdk:0.10.0"),
        ("0.8.1", "sdk:0.8.0 or sdk:0.9.0"),
    ):
        code, told = check(MODEL, against=[f"sdk:{missing}"])
        assert (code, f"dify-plugin=={missing}" in told) == (1, True)
        assert f"expected one such as {near}" in told

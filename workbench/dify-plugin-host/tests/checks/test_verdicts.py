"""The check and the plugin SDK's loader against measured verdicts on damaged packages, which the packager's tests hold.

There all rules are compared with what the daemon said; here the command is, on a sample. What the daemon took, the SDK's loader read; the loader,
which `check` asks once a package is installed, is run on all of them in one process.
"""

import json
import subprocess
import sys
import warnings
import zipfile
from importlib import resources
from io import BytesIO
from pathlib import Path

import damages
import pytest
from damages import DAMAGES, make


VERDICTS = json.loads(Path(damages.__file__).with_name("verdicts.json").read_text())["verdicts"]
REFUSED = [name for name, verdict in VERDICTS.items() if verdict.get("sdk_loads") is False]
TAKEN = [name for name, verdict in VERDICTS.items() if verdict.get("sdk_loads")]
LOAD_ALL = """
import json, os, runpy, sys
from pathlib import Path
loader = runpy.run_path(sys.argv[1])["DeclarationLoader"]
found = {}
for folder in Path(sys.argv[2]).iterdir():
    os.chdir(folder)
    found[folder.name] = loader(folder).find_problems()
print(json.dumps(found))
"""


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("name", [*DAMAGES][::12])
def test_the_command_refuses_what_the_daemon_refused_and_fails_for_more_than_advice(
    quick_check, name
):
    code, findings = quick_check(make(name))
    kinds = {kind for kind, _, _ in findings}
    assert ("refused" in kinds) == bool(VERDICTS[name]["daemon"])
    assert code == int(bool(kinds - {"advice"}))


def load(folder, names):
    """Load damaged packages with the SDK's loader, in one process; return what it says of each, by name."""
    for number, name in enumerate(names):
        with warnings.catch_warnings(action="ignore"):  # of an entry that is there twice
            content = make(name)
        with zipfile.ZipFile(BytesIO(content)) as archive:
            archive.extractall(folder / str(number))
    program = resources.files("dify_plugin_host") / "_checks/load_with_sdk.py"
    command = [sys.executable, "-I", "-c", LOAD_ALL, str(program), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: found[str(number)] for number, name in enumerate(names)}


@pytest.fixture(scope="module")
def load_problems(tmp_path_factory):
    """Return what the SDK's loader says of all that it refuses, and of some that it takes."""
    return load(tmp_path_factory.mktemp("loaded"), REFUSED + TAKEN[::12])


@pytest.mark.parametrize("name", REFUSED)
def test_the_sdks_loader_refuses_what_it_refused(load_problems, name):
    assert load_problems[name]


def test_the_sdks_loader_takes_what_it_took(load_problems):
    assert [
        problems for name, problems in load_problems.items() if name in TAKEN and problems
    ] == []


@pytest.mark.long
def test_the_sdks_loader_takes_all_that_it_took(tmp_path):
    assert load(tmp_path, TAKEN) == {name: [] for name in TAKEN}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a version with a word", "manifest.yaml: Invalid version: '0.0.1-wild'"),
        ("no memory", "manifest.yaml: 'resource.memory': Field required"),
        ("no source of a provider", "provider/echo.yaml: 'extra.python.provider_source': Field"),
        ("models.llm that is a list", "provider/echo.yaml: 'list' object has no attribute 'get'"),
        ("a position of numbers", "provider/echo.yaml: 'position.llm.0': Input should be a valid"),
        ("no currency", "models/llm/echo-1.yaml: 'pricing.currency': Field required"),
        ("an unknown property", "models/llm/echo-1.yaml: 'model_properties.context.[key]': Input"),
        ("an unknown credential of tools", "provider/demo.yaml: 'credentials_for_provider.0.type'"),
        ("an unknown form", "tools/words.yaml: 'form': Input should be 'schema', 'form' or 'llm'"),
        ("no description of a tool", "tools/words.yaml: 'description': Field required"),
        ("an unknown feature of a strategy", "strategies/steps.yaml: 'features.0': Input should"),
        ("an endpoint without a method", "endpoints/item.yaml: 'method': Field required"),
        ("an unknown tag in a position", "models/llm/_position.yaml: could not determine a"),
    ],
)
def test_what_the_sdk_refuses_is_told_by_file_and_field(load_problems, name, told):
    assert load_problems[name][0].startswith(told), load_problems[name]

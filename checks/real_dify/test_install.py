"""Both packages install and answer on every route on which the daemon makes a plugin's environment."""

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from client import DaemonClient, DaemonError
from dify import KEY, MODEL_PLUGIN, answer_of, model_call, run_agent, text_of, user
from gpt5_simulator import ResponsesSimulator, ScriptedModel, Text
from servers import SERVER_KEY


@pytest.fixture
def simulator():
    turns = [[Text(text="A model's answer.")], [Text(text="An agent's answer.")]]
    with ResponsesSimulator(model=ScriptedModel(turns), api_keys=[KEY]) as simulator:
        yield simulator


def index_of(package):
    """Return the index from which the package's lock takes its dependencies."""
    lock = tomllib.loads(zipfile.ZipFile(package).read("uv.lock").decode())
    return next(p["source"]["registry"] for p in lock["package"] if "registry" in p["source"])


def check_both_answer(daemon, packages, simulator, between):
    client = DaemonClient(daemon.base_url, SERVER_KEY)
    for package in packages:
        client.install(package)
    between(client, simulator.base_url)
    call = model_call(simulator.base_url, user("Hello."))
    assert "A model's answer." in answer_of(list(client.call(MODEL_PLUGIN, "llm/invoke", call)))
    assert text_of(run_agent(client, simulator.base_url)) == "An agent's answer."
    assert not [line for line in daemon.log.splitlines() if " ERROR " in line]


def test_with_the_lock(start_daemon, packages, simulator, between):
    with start_daemon() as daemon:
        check_both_answer(daemon, packages, simulator, between)


def test_without_the_lock(start_daemon, packages, simulator, between):
    with start_daemon(PLUGIN_IGNORE_UV_LOCK="true") as daemon:
        check_both_answer(daemon, packages, simulator, between)


def test_from_the_requirements_with_a_mirror(start_daemon, packages, simulator, between):
    with start_daemon(PIP_MIRROR_URL=index_of(packages[0])) as daemon:
        check_both_answer(daemon, packages, simulator, between)


@pytest.mark.parametrize(
    "route",
    [{}, {"PLUGIN_IGNORE_UV_LOCK": "true"}, {"PIP_MIRROR_URL": "http://127.0.0.1:9/simple"}],
    ids=["with the lock", "without the lock", "from the requirements"],
)
def test_offline_packages_without_any_network(
    start_daemon, offline_packages, simulator, between, without_network, route
):
    with start_daemon(**without_network, **route) as daemon:
        check_both_answer(daemon, offline_packages, simulator, between)


def test_ordinary_packages_need_a_network(start_daemon, packages, without_network):
    with start_daemon(**without_network) as daemon:
        client = DaemonClient(daemon.base_url, SERVER_KEY)
        with pytest.raises(DaemonError, match="failed to install dependencies"):
            client.install(packages[0])


@pytest.fixture(scope="module")
def repackaged(packages, programs, folder):
    """The model plugin's ordinary package as widespread scripts make it offline: with what pip downloads, and the settings that they add."""
    place = folder / "repackaged"
    with zipfile.ZipFile(packages[0]) as archive:
        archive.extractall(place)
    pip = [find_uv_bin(), "run", "--no-project", "--python", sys.executable, "--with", "pip"]
    download = ["python", "-m", "pip", "download", "--prefer-binary", "--requirement"]
    subprocess.run([*pip, *download, "requirements.txt", "--dest", "wheels"], cwd=place, check=True)
    for name, old, new in (
        ("requirements.txt", "", "--no-index --find-links=./wheels/\n"),
        (
            "pyproject.toml",
            "[tool.uv]\n",
            '[tool.uv]\nno-index = true\nfind-links = ["./wheels"]\n',
        ),
    ):
        text = (place / name).read_text()
        (place / name).write_text(text.replace(old, new, 1))
    package = folder / "repackaged.difypkg"
    pack = [programs / "commandline", "plugin", "package", place, "-o", package]
    subprocess.run([*pack, "--max-size", "100"], check=True)
    return package


@pytest.mark.parametrize(
    "route",
    [{"PLUGIN_IGNORE_UV_LOCK": "true"}, {"PIP_MIRROR_URL": "http://127.0.0.1:9/simple"}],
    ids=["without the lock", "from the requirements"],
)
def test_an_ordinary_package_that_others_made_offline(
    start_daemon, repackaged, without_network, route
):
    """By its lock, which still names an index, it fails like anybody's."""
    with start_daemon(**without_network, **route) as daemon:
        client = DaemonClient(daemon.base_url, SERVER_KEY)
        assert client.install(repackaged).startswith(f"{MODEL_PLUGIN}:")


@pytest.fixture(scope="module")
def offline_packages(folder):
    """Both plugins as packages that need no index: the model plugin first."""
    command = [Path(sys.executable).with_name("dify-host"), "package", "--offline"]
    done = subprocess.run(
        [*command, "--output", folder / "offline"],
        cwd=Path(__file__).parents[2],
        check=True,
        capture_output=True,
        text=True,
    )
    strategies, model = sorted(line.partition("  ")[0] for line in done.stdout.splitlines())
    return [Path(model), Path(strategies)]


def test_signed_where_a_signature_is_asked_for(
    start_daemon, packages, simulator, between, programs, tmp_path
):
    command = programs / "commandline"
    subprocess.run([command, "signature", "generate", "-f", "pair"], cwd=tmp_path, check=True)
    signed = []
    for package in packages:
        copy = tmp_path / package.name
        copy.write_bytes(package.read_bytes())
        private = ["-p", tmp_path / "pair.private.pem"]
        subprocess.run([command, "signature", "sign", copy, *private], cwd=tmp_path, check=True)
        signed += tmp_path.glob(f"{copy.stem}*signed*")
    settings = {
        "FORCE_VERIFYING_SIGNATURE": "true",
        "THIRD_PARTY_SIGNATURE_VERIFICATION_ENABLED": "true",
        "THIRD_PARTY_SIGNATURE_VERIFICATION_PUBLIC_KEYS": str(tmp_path / "pair.public.pem"),
    }
    with start_daemon(**settings) as daemon:
        client = DaemonClient(daemon.base_url, SERVER_KEY)
        with pytest.raises(DaemonError, match="signature"):
            client.install(packages[0])
        check_both_answer(daemon, signed, simulator, between)

"""The documents' install lines, each tried with the wheels of this checkout, and the first block of each README.

The wheels are built once.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import wheels
from release import read_members
from sessions.cache import link_bytecode, share_bytecode


ROOT = Path(__file__).parents[2]
PACKAGES = {member.name: member for member in read_members(ROOT) if not member.is_plugin}
BUILD = "uv run tools/release/wheels.py"
COMMAND = re.compile(r"(?:^(?:\$ )?|`)((?:uv )?(?:pip install|add) [^`\n]*)", re.MULTILINE)
FROM_GIT = re.compile(r" @ git\+URL#subdirectory=")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NOX = ("UV_PROJECT_ENVIRONMENT", "VIRTUAL_ENV")
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


def documented() -> list[str]:
    """Collect what documents tell their readers to type to get a package of ours, each line once."""
    documents = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/*/README.md")]
    found = [line for path in documents for line in COMMAND.findall(path.read_text("utf-8"))]
    return sorted({line for line in found if any(name in line for name in PACKAGES)})


def containers() -> Iterator[str]:
    """Iterate over what a container of ours is made with: of itself, and with the argument that a document gives it."""
    text = (ROOT / "servers/agent-server/Containerfile").read_text("utf-8")
    (line,) = re.findall(r"&& (pip install [^&]*-c .*?) &&", text)
    named = re.findall(r"ARG PACKAGE=(.*)", text)
    named += re.findall(r"PACKAGE='(.*?)'", (ROOT / "docs/operate.md").read_text("utf-8"))
    for name in named:
        yield line.replace("$PACKAGE", name).replace("/wheels", "dist")


def run(folder: Path, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `dist` the documented line has filled."""
    folder = tmp_path_factory.mktemp("clone of it")
    for name in ("README.md", "docs/operate.md"):
        assert f"```bash\n{BUILD}\n" in (ROOT / name).read_text("utf-8")
    run(ROOT, *BUILD.split(), "--out-dir", str(folder / "dist"))
    locked = (
        "--all-packages",
        "--all-extras",
        "--all-groups",
        "--no-emit-workspace",
        "--no-hashes",
    )
    run(ROOT, "uv", "export", "--quiet", "--frozen", *locked, "-o", str(folder / "locked.txt"))
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of an index where a stranger has taken all our names, half of them with a higher version than ours and half with the same."""
    folder = tmp_path_factory.mktemp("index")
    for number, name in enumerate(PACKAGES):
        version = ("0.1.0", "0.1.99")[number % 2]
        assert str(PACKAGES[name].version) == "0.1.0"
        stem = f"{name.replace('-', '_')}-{version}"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        (folder / name).mkdir()
        with zipfile.ZipFile(folder / name / f"{stem}-py3-none-any.whl", "w") as wheel:
            for entry, text in (("METADATA", metadata), ("WHEEL", kind), ("RECORD", "")):
                wheel.writestr(f"{stem}.dist-info/{entry}", text)
        link = f'<a href="{stem}-py3-none-any.whl">{stem}-py3-none-any.whl</a>'
        (folder / name / "index.html").write_text(link, "utf-8")
    return folder.as_uri()


def resolve(clone: Path, index: str, *words: str) -> dict[str, str]:
    """Return what uv would take for the words of a line, each name with where it comes from."""
    # Other tests fill the environment of this session, which here is not to matter.
    empty = ("--python", sys.executable, "--target", "nowhere")
    command = ("uv", "pip", "install", "--dry-run", *empty, "--extra-index-url", index)
    done = run(clone, *command, *words)
    assert "-c" not in words or "does not have an extra" not in done.stderr
    return dict(re.findall(r"^ \+ ([\w-]+)(?:==| @ )(.*)$", done.stderr, re.MULTILINE))


def assert_from_the_clone(clone: Path, found: dict[str, str], *names: str) -> None:
    assert set(names) <= found.keys()
    place = (clone / "dist").as_uri()
    assert {found[name].rpartition("/")[0] for name in found.keys() & PACKAGES.keys()} == {place}


def wheel_name(path: str) -> str:
    """Return the name of a wheel's distribution."""
    return path.rpartition("/")[2].partition("-")[0].replace("_", "-")


def asked(line: str) -> dict[str, str]:
    """Return what a line asks for of ours, each with the folder in the repository that it names, if it does."""
    words = [FROM_GIT.split(word) for word in shlex.split(line)]
    return {name: "".join(folder) for name, *folder in words if name.partition("[")[0] in PACKAGES}


LINES = [*documented(), *sorted(set(containers()))]


@pytest.mark.parametrize("line", LINES)
def test_a_documented_line_says_where_our_packages_are(line: str) -> None:
    # pip knows nothing of a workspace, and no index has its packages.
    if line.startswith("uv add"):
        for name, folder in asked(line).items():
            assert folder == PACKAGES[Requirement(name).name].folder.as_posix()
    else:
        assert "pip install " in line
        assert " -c dist/constraints.txt " in line
        assert not any(asked(line).values())


def test_the_documented_lines_take_our_packages_and_no_strangers(clone: Path, index: str) -> None:
    names = {name for line in LINES for name in asked(line)} | PACKAGES.keys()
    found = resolve(clone, index, "-c", "dist/constraints.txt", *sorted(names))
    assert_from_the_clone(clone, found, *PACKAGES)


def test_without_the_constraints_a_stranger_comes_in(clone: Path, index: str) -> None:
    found = resolve(clone, index, "--find-links", "dist", *PACKAGES)

    assert {"0.1.0", "0.1.99"} <= set(found.values())


def test_pip_takes_ours_as_well(clone: Path, index: str) -> None:
    names = ("gpt5-responses", "gpt5-agent-driver[patterns]")
    options = ("--dry-run", "--ignore-installed", "--quiet", "--report", "-", "--no-cache-dir")
    command = (sys.executable, "-m", "pip", "install", *options, "--extra-index-url", index)
    done = run(clone, *command, "-c", "dist/constraints.txt", *names)

    installed = json.loads(done.stdout)["install"]
    found = {one["metadata"]["name"]: one["download_info"]["url"] for one in installed}
    assert_from_the_clone(clone, found, "gpt5-responses", "gpt5-agent-loop", "gpt5-prices")


def test_a_container_is_made_of_the_wheels_that_were_built(clone: Path) -> None:
    text = (ROOT / "servers/agent-server/Containerfile").read_text("utf-8")
    assert "COPY dist/*.whl dist/constraints.txt /wheels/" in text
    (moved,) = re.findall(r"RUN sed -i '(.*?)' /wheels/constraints.txt &&", text)
    lines = run(clone, "sed", moved, "dist/constraints.txt").stdout.splitlines()
    assert "gpt5-prices @ file:///wheels/gpt5_prices-0.1.0-py3-none-any.whl" in lines
    assert len(lines) == len(PACKAGES)


def test_every_wheel_holds_the_licence(clone: Path) -> None:
    for path in (clone / "dist").glob("*.whl"):
        with zipfile.ZipFile(path) as wheel:
            (held,) = (name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
            assert wheel.read(held) == (ROOT / "LICENSE").read_bytes()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of two packages as their owner, who has filled in the repository, builds them."""
    root = tmp_path_factory.mktemp("filled-in")
    shutil.copytree(ROOT / "packages/run-log", root / "packages/run-log")
    shutil.copytree(ROOT / "docs", root / "docs")
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    text = re.sub(
        r'^repository = ".*"', 'repository = "https://git.example/a/b/"', text, flags=re.MULTILINE
    )
    (root / "pyproject.toml").write_text(text, "utf-8")
    wheels.build(root, root / "dist", Path("packages/run-log"))
    return root / "dist"


def test_what_an_index_shows_of_a_package_leads_to_the_owners_repository(published: Path) -> None:
    (path,) = published.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        metadata = message_from_bytes(wheel.read(name))
    page = str(metadata.get_payload())
    place = "https://git.example/a/b"

    assert f"]({place}/blob/HEAD/README.md#take-one-package)" in page
    assert f"]({place}/blob/HEAD/packages/run-log/README.md#traces)" in page
    assert f"]({place}/raw/HEAD/docs/pictures/page-round.png)" in page
    assert f'"gpt5-run-log @ git+{place}#subdirectory=packages/run-log"' in page
    assert not re.findall(r"\]\((?!https?://)[^)]*\)", BLOCK.sub("", page))
    assert metadata.get_all("Project-URL") == [
        f"Changelog, {place}/blob/HEAD/packages/run-log/CHANGELOG.md",
        f"Source, {place}/tree/HEAD/packages/run-log",
    ]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a `b`](../other/README.md)", "[a `b`](U/blob/HEAD/packages/other/README.md)"),
        ("[![p](pic.png)](src)", "[![p](U/raw/HEAD/packages/one/pic.png)](U/tree/HEAD/packages/one/src)"),
        ("[x]: ../../docs/my%20page.md#y", "[x]: U/blob/HEAD/docs/my%20page.md#y"),
        ("[x](//host/y) [x](mailto:a@b.c)", "[x](//host/y) [x](mailto:a@b.c)"),
        ("`[x](y)`\n```md\n[x](y)\n```", "`[x](y)`\n```md\n[x](y)\n```"),
    ],
)  # fmt: skip
def test_a_link_is_made_whole_and_code_is_left_alone(
    link: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / "packages/one/src").mkdir(parents=True)

    assert wheels.make_absolute(link, Path("packages/one"), "U", tmp_path) == expected


class Reader:
    """Somebody who has a README, the wheels and an empty environment."""

    def __init__(self, clone: Path, index: str, folder: Path) -> None:
        self.clone, self.index, self.compiled = clone, index, folder / "compiled"
        self.place = folder / "environment"
        python = os.environ.get("README_PYTHON", sys.executable)
        run(folder, "uv", "venv", "--quiet", "--python", python, str(self.place))
        (self.packages,) = self.place.glob("lib/python*/site-packages")
        (folder / "empty").mkdir()
        self.folder = folder / "empty"
        path = os.pathsep.join((str(self.place / "bin"), os.environ["PATH"]))
        key = {"OPENAI_API_KEY": "sk-simulator-any-key"}
        # A session of nox is no part of it: uv would fill its environment.
        others = {name: value for name, value in os.environ.items() if name not in _NOX}
        self.variables = others | key | {"PATH": path, "HOME": str(folder)}
        (folder / ".config/uv").mkdir(parents=True)
        held = run(folder, "uv", "cache", "dir").stdout.strip()
        settings = (
            f'cache-dir = {json.dumps(held)}\nexclude-newer = "1 week"\nsystem-certs = true\n'
        )
        (folder / ".config/uv/uv.toml").write_text(settings, "utf-8")

    def install(self, name: str) -> tuple[str, str]:
        """Do what the first block of a package's README says of installing, and return the language and text of the next."""
        page = (ROOT / PACKAGES[name].folder / "README.md").read_text("utf-8")
        (_, install), first, *_ = BLOCK.findall(page)
        lines = install.splitlines()
        # Whichever line one takes, it brings the same.
        (named,) = {tuple(asked(line)) for line in lines}
        others = ["uv"] if shlex.split(lines[-1])[-1] == "uv" else []
        # What an earlier README has installed goes, unless this one brings it, too.
        command = ("uv", "pip", "install", "--quiet", "--exact", "--python", str(self.place))
        # Nothing runs here that the lock does not know; what is compiled of that, other sessions have left.
        constraints = ("-c", "dist/constraints.txt", "-c", "locked.txt")
        # ... and of ours, earlier READMEs.
        link_bytecode(self.packages, self.compiled, everywhere=True)
        run(self.clone, *command, "--extra-index-url", self.index, *constraints, *named, *others)
        link_bytecode(self.compiled, self.packages, everywhere=False)
        urls = self.packages.glob("*.dist-info/direct_url.json")
        told = [json.loads(path.read_bytes()) for path in urls]
        found = {wheel_name(str(path)): "" for path in self.packages.glob("*.dist-info")}
        found |= {wheel_name(one["url"]): one["url"] for one in told}
        assert_from_the_clone(self.clone, found, *(Requirement(name).name for name in named))
        share_bytecode(self.place)
        return first

    @contextmanager
    def following(self, language: str, text: str) -> Iterator[str]:
        """Run a block as its language says, and return its output.

        To its end, or, if it starts a server, until the server prints its address and as long as the context lasts.
        """
        if language in {"py", "python"}:
            (self.folder / "example.py").write_text(text, "utf-8")
            text = "python example.py"
        if language == "console":
            text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))
        with subprocess.Popen(
            ["bash", "-ec", re.sub(r"--port \d+", "--port 0", text)],
            # What a clone runs by itself is run in one.
            cwd=ROOT if text.startswith("uv run") else self.folder,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            said = ""
            try:
                for line in process.stdout or ():
                    said += line
                    if "--port" in text and ADDRESS.search(line):
                        break
                else:
                    assert process.wait() == 0, said
                yield said
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)


@pytest.fixture(scope="module")
def reader(clone: Path, index: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A reader, where a simulator stands in for OpenAI, started as its README says."""
    reader = Reader(clone, index, tmp_path_factory.mktemp("reader"))
    own = Reader(clone, index, tmp_path_factory.mktemp("simulator"))
    plugins = ROOT / "workbench/dify-plugin-host/tests/plugins"
    shutil.copytree(plugins / "echo_model", reader.folder / "plugin")
    shutil.copy(plugins / "wire.py", reader.folder / "plugin")
    with own.following(*own.install("gpt5-simulator")) as address:
        reader.variables["OPENAI_BASE_URL"] = address.strip()
        yield reader


@pytest.mark.parametrize("name", PACKAGES)
def test_the_first_block_of_a_readme_runs_after_its_line_of_installing(
    name: str, reader: Reader
) -> None:
    with reader.following(*reader.install(name)):
        pass  # to its end, or to where its server is there

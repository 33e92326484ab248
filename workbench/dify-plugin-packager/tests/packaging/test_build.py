import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile

import pytest
import uv
import yaml

from dify_plugin_packager import PackageError, build_package


@pytest.fixture
def workshop(workshop):
    """Have plugins of the workshop need one of its packages alone, for each takes a while to build."""
    for project in workshop.glob("plugins/*/pyproject.toml"):
        needs_one = re.sub(
            r"(?m)^(dependencies = ).*", r'\1["tiny-base>=0.1"]', project.read_text()
        )
        project.write_text(needs_one)
    return workshop


@pytest.fixture
def command(monkeypatch, packager, workshop):
    """Run the command in the workshop."""
    monkeypatch.chdir(workshop)
    return packager


@pytest.fixture
def package(command, workshop):
    """Package the echo model with these files added to its folder; return the package's files by path.

    What it says of the files that it left out is told in full by `left_out`.
    """

    def run(left_out="", told="", **added):
        folder = workshop / "plugins" / "echo_model"
        for name, content in added.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        code, _, err = command("package", "echo_model")
        left_out = left_out and f"echo_model: left out: {left_out}\n"
        assert (code, err if not told else err.startswith(told)) == (
            0,
            left_out or bool(told) or "",
        )
        with zipfile.ZipFile(workshop / "dist" / "echo_model-0.0.1.difypkg") as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    return run


@pytest.fixture
def packaged(packages):
    """Return the files of the echo model's package, by path, as it is made of the workshop as it is."""
    with zipfile.ZipFile(packages / "echo_model.difypkg") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_all_plugins_are_packaged_and_named(command, workshop):
    code, out, err = command("package")
    assert (code, err) == (0, "")
    for line, name in zip(out.splitlines(), ("echo_model", "small_agent"), strict=True):
        path, size, identifier = line.split("  ")
        assert path == f"dist/{name}-0.0.1.difypkg"
        assert int(size) == (workshop / path).stat().st_size < 100_000
        assert identifier.startswith(f"tests/{name}:0.0.1@")


def test_the_checksum_is_the_daemons(command, workshop):
    _, out, _ = command("package", "echo_model")
    with zipfile.ZipFile(workshop / "dist" / "echo_model-0.0.1.difypkg") as archive:
        parts = [
            hashlib.sha256(content).digest()
            for name in sorted(archive.namelist())
            for content in (name.encode(), archive.read(name))
        ]
    assert out.split()[-1].partition("@")[2] == hashlib.sha256(b"".join(parts)).hexdigest()


def test_the_same_sources_make_the_same_bytes_in_every_folder(command, workshop, tmp_path):
    command("package", "echo_model")
    first = (workshop / "dist" / "echo_model-0.0.1.difypkg").read_bytes()
    copy = tmp_path / "somewhere" / "else"
    shutil.copytree(workshop, copy)
    for path in copy.rglob("*.py"):
        os.utime(path, (0, 10**9))
    command("package", copy / "plugins" / "echo_model", "--output", copy / "out")
    assert (copy / "out" / "echo_model-0.0.1.difypkg").read_bytes() == first


def test_a_changed_package_changes_the_checksum(command, workshop):
    _, before, _ = command("package", "echo_model")
    (workshop / "packages/tiny-base/src/tiny_base/__init__.py").write_text("ANSWER = 42\n")
    _, after, _ = command("package", "echo_model")
    assert before.split()[-1] != after.split()[-1]


def test_wheels_of_every_package_that_is_needed_directly_or_not_are_bundled(packaged):
    wheels = {name for name in packaged if name.startswith("wheels/")}
    assert wheels == {
        "wheels/index.html",
        "wheels/dify_plugin-0.10.2+bundle-py3-none-any.whl",
        "wheels/tiny_base-0.1.0+bundle-py3-none-any.whl",
        "wheels/tiny_top-0.1.0+bundle-py3-none-any.whl",
    }


def test_every_wheel_is_a_direct_dependency_with_a_path(packaged):
    pyproject = tomllib.loads(packaged["pyproject.toml"].decode())
    assert pyproject["project"]["dependencies"] == [
        "dify-plugin==0.10.2+bundle",
        "tiny-base==0.1.0+bundle",
        "tiny-top==0.1.0+bundle",
    ]
    uv = pyproject["tool"]["uv"]
    assert uv["sources"]["tiny-base"] == {"path": "wheels/tiny_base-0.1.0+bundle-py3-none-any.whl"}
    assert uv["package"] is False
    # Nobody's daemon runs on Windows, and what only that needs is in no folder of downloaded wheels.
    locked = tomllib.loads(packaged["uv.lock"].decode())
    assert uv["environments"] == locked["supported-markers"] == ["sys_platform != 'win32'"]
    assert "workspace" not in uv
    assert pyproject["dependency-groups"] == {"dev": []}


def test_the_lock_holds_the_hash_of_each_wheel(packaged):
    locked = {
        entry["name"]: entry for entry in tomllib.loads(packaged["uv.lock"].decode())["package"]
    }
    wheel = packaged["wheels/tiny_base-0.1.0+bundle-py3-none-any.whl"]
    expected = f"sha256:{hashlib.sha256(wheel).hexdigest()}"
    assert locked["tiny-base"]["wheels"][0]["hash"] == expected


def test_the_requirements_name_the_same_wheels_and_their_hashes(packaged):
    wheels = ("dify_plugin-0.10.2", "tiny_base-0.1.0", "tiny_top-0.1.0")
    digests = [
        hashlib.sha256(packaged[f"wheels/{wheel}+bundle-py3-none-any.whl"]).hexdigest()
        for wheel in wheels
    ]
    named = [wheel.replace("_", "-").replace("-", "==").replace("==", "-", 1) for wheel in wheels]
    assert packaged["requirements.txt"].decode().splitlines() == [
        "--find-links ./wheels",
        *(
            f"{name}+bundle --hash=sha256:{digest}"
            for name, digest in zip(named, digests, strict=True)
        ),
    ]


def test_tests_caches_and_secrets_stay_behind(package):
    added = {
        "tests/test_it.py": "",
        "__pycache__/main.cpython-312.pyc": "",
        "provider/__pycache__/echo.cpython-312.pyc": "",
        "stray.pyc": "",
        ".env": "KEY=secret",
        ".venv/bin/python": "",
        "dist/old.difypkg": "",
        "wheels/old.whl": "",
        "generate_models.py": "",
        "requirements.txt": "evil",
        "catalog.yaml": "kept",
    }
    files = package(".env, .venv/, dist/, generate_models.py, tests/", **added)
    assert files["catalog.yaml"] == b"kept"
    assert files["requirements.txt"] != b"evil"
    assert not (added.keys() - {"catalog.yaml", "requirements.txt"}) & files.keys()


KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA\n"
PRIVATE = {
    "id_rsa": "x",
    "keys/id_ed25519.pub": "x",
    "deploy": KEY,
    "venv/bin/activate": "x",
    "my_environment/pyvenv.cfg": "x",
    "my_environment/bin/python": "x",
    "logs/today.txt": "x",
    "provider/run.log": "x",
}
SUSPICIOUS = {"tls/server.pem": "x", "users.db": "x", "secrets.yaml": "x", "notes.txt.bak": "x"}


def names_of(left_out):
    """Return the names that a package lacks, as they are told."""
    folders = ("venv", "my_environment", "logs")
    parts = {
        (path.split("/")[0] + "/" if path.split("/")[0] in folders else path) for path in left_out
    }
    return ", ".join(sorted(parts))


def git(folder, *arguments):
    settings = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


def test_where_git_knows_nothing_what_looks_private_stays_behind_and_is_told(package):
    added = PRIVATE | SUSPICIOUS
    files = package(names_of(added), **added, **{"data/words.txt": "kept"})
    assert not added.keys() & files.keys()
    assert files["data/words.txt"] == b"kept"


@pytest.mark.parametrize("ignore", [".difyignore", ".gitignore"])
def test_where_git_knows_nothing_the_plugins_own_rules_hold(package, ignore):
    rules = "# ours\n\ncache/\n/notes*.txt\ndata/*.json\n**/draft/x\n!data/b.json\n\\#a\n[^a].md\n"
    ignored = {
        "cache/a": "x",
        "deep/cache/a": "x",
        "notes-1.txt": "x",
        "data/a.json": "x",
        "data/b.json": "x",
        "draft/x": "x",
        "deep/draft/x": "x",
        "#a": "x",
        "b.md": "x",
    }
    kept = {"deep/notes.txt": "x", "data/a/b.json": "x", "a.md": "x", "deep/a/cache": "x"}
    files = package(**{ignore: rules}, **ignored, **kept)
    assert not ignored.keys() & files.keys()
    assert kept.keys() <= files.keys()


def test_a_difyignore_stands_in_the_place_of_a_gitignore(package):
    files = package(**{".difyignore": "a.txt", ".gitignore": "b.txt", "a.txt": "x", "b.txt": "x"})
    assert "b.txt" in files
    assert "a.txt" not in files


def test_only_what_git_knows_is_packaged(package, workshop):
    known = SUSPICIOUS | {"data/known.txt": "x", "data/gone.txt": "x", "unwanted.txt": "x"}
    for name, content in (known | {"provider/deploy": KEY}).items():
        path = workshop / "plugins/echo_model" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    git(workshop, "init")
    git(workshop, "add", ".")
    (workshop / "plugins/echo_model/data/gone.txt").unlink()
    added = PRIVATE | {"new.yaml": "x", "data/new.yaml": "x"}
    rules = {".difyignore": "unwanted.txt", ".gitignore": "ignored.txt", "ignored.txt": "x"}

    files = package(names_of({*added, "provider/deploy"}), **added, **rules)

    assert not {*added, *rules, "provider/deploy", "data/gone.txt", "unwanted.txt"} & files.keys()
    assert {*SUSPICIOUS, "data/known.txt", "main.py"} <= files.keys()


PACKAGE = "packages/tiny-base/src/tiny_base"
NEEDLESS = {".env": "x", "id_ed25519": "x", "dump.log": "x", "venv/pyvenv.cfg": "x"}
WHEEL = "wheels/tiny_base-0.1.0+bundle-py3-none-any.whl"


@pytest.fixture
def wheel(package, workshop):
    """Package the echo model with these files added to the module of a package that it needs; return the module's files in the wheel by name."""

    def run(left_out=(), ignored="", **added):
        for name, content in {**added, "../../.gitignore": ignored}.items():
            path = workshop / PACKAGE / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        told = ", ".join(f"../../{PACKAGE}/{name}" for name in sorted(left_out))
        content = package(told)[WHEEL]
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {
                name.removeprefix("tiny_base/"): archive.read(name)
                for name in archive.namelist()
                if name.startswith("tiny_base/") and not name.endswith("/")
            }

    return run


def test_a_wheel_holds_what_git_tracks_or_would_add_and_nothing_that_looks_private(wheel, workshop):
    (workshop / PACKAGE / "logs").mkdir()
    (workshop / PACKAGE / "logs/__init__.py").write_text("x")
    (workshop / PACKAGE / "for_tests.pem").write_text(KEY)
    git(workshop, "init")
    git(workshop, "add", ".")
    account = json.dumps({"type": "service_account", "private_key": KEY})
    added = {**NEEDLESS, "deploy": KEY, "account.json": account, "notes.txt": "x", "new.py": "x"}
    left_out = [".env", "id_ed25519", "dump.log", "venv/", "deploy", "account.json"]

    files = wheel(left_out, "notes.txt", **added)

    assert files.keys() == {"__init__.py", "for_tests.pem", "logs/__init__.py", "new.py"}


def test_a_package_that_is_new_to_git_is_bundled(wheel, workshop):
    git(workshop, "init")
    assert wheel([".env"], **{".env": "x", "new.py": "x"}).keys() == {"__init__.py", "new.py"}


def test_a_repository_inside_of_a_package_stays_behind(wheel, workshop):
    git(workshop, "init")
    for name in ("known", "new"):
        other = workshop / PACKAGE / name
        git(workshop, "init", other)
        (other / "part.py").write_text("x")
        git(other, "add", "part.py")
        git(other, "commit", "-m", "x")
    git(workshop, "add", f"{PACKAGE}/known")
    shutil.rmtree(workshop / PACKAGE / "known/.git")

    assert wheel(["known", "new/"]).keys() == {"__init__.py"}


def test_where_git_knows_nothing_a_wheel_holds_what_the_packages_rules_leave(wheel):
    added = {**NEEDLESS, "secrets.yaml": "x", "notes.txt": "x", "new.py": "x"}
    left_out = [".env", "id_ed25519", "dump.log", "venv/", "secrets.yaml"]
    assert wheel(left_out, "notes.txt", **added).keys() == {"__init__.py", "new.py"}


def test_a_list_says_what_a_wheel_is_built_of(wheel, workshop):
    project = workshop / "packages/tiny-base/pyproject.toml"
    listed = '["pyproject.toml", "src/tiny_base/__init__.py", "src/tiny_base/logs/a.py"]'
    project.write_text(f"{project.read_text()}\n[tool.dify-host]\ninclude = {listed}\n")
    assert wheel(**{"new.py": "x", "logs/a.py": "x"}).keys() == {"__init__.py", "logs/a.py"}


def test_a_wheel_holds_the_file_of_the_workspace_that_a_link_leads_to(wheel, workshop):
    (workshop / "LICENSE").write_text("Anybody may.")
    (workshop / PACKAGE / "LICENSE").symlink_to("../../../../LICENSE")
    assert wheel()["LICENSE"] == b"Anybody may."


def test_a_link_brings_nothing_private_of_the_workspace_into_a_wheel(wheel, workshop):
    (workshop / ".env").write_text("x")
    (workshop / PACKAGE / "settings.txt").symlink_to("../../../../.env")
    assert wheel(["settings.txt"]).keys() == {"__init__.py"}
    git(workshop, "init")
    (workshop / PACKAGE / "../../notes.txt").write_text("x")
    (workshop / PACKAGE / "more.py").symlink_to("../../notes.txt")
    git(workshop, "add", "-f", f"{PACKAGE}/settings.txt", f"{PACKAGE}/more.py")
    assert wheel(["settings.txt", "more.py"], "notes.txt").keys() == {"__init__.py"}


def test_what_is_no_file_of_the_workspace_goes_into_no_wheel(wheel, workshop):
    (workshop / PACKAGE / "hostname").symlink_to("/etc/hostname")
    (workshop / PACKAGE / "other").symlink_to("../../../tiny-top/src/tiny_top")
    os.mkfifo(workshop / PACKAGE / "pipe")
    assert wheel(["hostname", "other", "pipe"]).keys() == {"__init__.py"}


def test_a_list_says_what_is_packaged(package, workshop):
    project = workshop / "plugins/echo_model/pyproject.toml"
    listed = '["main.py", "manifest.yaml", "provider", "models", "_assets", "README.md", "PRIVACY.md", "./tls/ca.pem"]'
    project.write_text(f"{project.read_text()}\n[tool.dify-host]\ninclude = {listed}\n")
    added = {"provider/id_rsa": "x", "new.yaml": "x", "tls/server.key": "x"}

    files = package("provider/id_rsa", **added, **{"tls/ca.pem": KEY, "provider/new.yaml": "x"})

    assert not added.keys() & files.keys()
    assert {"tls/ca.pem", "provider/new.yaml", "main.py"} <= files.keys()


@pytest.mark.parametrize("path", ["gone.py", "../small_agent", "/etc/hostname", "linked/hostname"])
def test_a_list_names_what_is_in_the_plugin(command, workshop, path):
    (workshop / "plugins/echo_model/linked").symlink_to("/etc")
    project = workshop / "plugins/echo_model/pyproject.toml"
    project.write_text(f'{project.read_text()}\n[tool.dify-host]\ninclude = ["{path}"]\n')
    code, _, err = command("package", "echo_model")
    assert code == 2
    assert (
        f"tool.dify-host.include: expected files and folders beside this file, got '{path}'" in err
    )


def test_without_git_what_it_would_know_is_not_asked(package, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "main.py" in package()


@pytest.mark.parametrize("author", ["../../../x", "..", "a/b", "Me", ""])
def test_a_name_that_is_no_identifier_makes_no_package(command, workshop, author):
    manifest = workshop / "plugins/echo_model/manifest.yaml"
    manifest.write_text(manifest.read_text().replace("author: tests", f"author: '{author}'"))
    code, _, err = command("package", "echo_model")
    assert code == 2
    assert f"got '{author}/echo_model:0.0.1'" in err
    assert not (workshop / "dist").exists()


def test_the_archive_says_nothing_of_the_machine_that_made_it(package, workshop):
    package()
    with zipfile.ZipFile(workshop / "dist" / "echo_model-0.0.1.difypkg") as archive:
        entries = archive.infolist()
        assert archive.comment == b""
    names = [entry.filename for entry in entries]
    assert names == sorted(names)
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert not any(entry.is_dir() or stat.S_IFMT(entry.external_attr >> 16) for entry in entries)


ELSEWHERE = """
[[package]]
name = "elsewhere"
version = "1.2.3"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "https://example.com/elsewhere-1.2.3.tar.gz", hash = "sha256:%s" }
""" % ("0" * 64)


def test_third_parties_keep_the_versions_that_the_workspace_has_locked(package, workshop):
    lock = [uv.find_uv_bin(), "lock", "--no-config", "--offline", "--python", sys.executable]
    subprocess.run(lock, cwd=workshop, check=True, capture_output=True)
    locked = (workshop / "uv.lock").read_text()
    needed = '{ name = "tiny-base" },'
    locked = locked.replace(needed, f'{needed}\n    {{ name = "elsewhere" }},')
    (workshop / "uv.lock").write_text(locked + ELSEWHERE)
    pyproject = tomllib.loads(package()["pyproject.toml"].decode())
    assert pyproject["tool"]["uv"]["constraint-dependencies"] == ["elsewhere==1.2.3"]


@pytest.fixture
def own(workshop):
    """Say in the workshop's pyproject.toml whose its plugins are."""

    def say(**names):
        root = workshop / "pyproject.toml"
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in names.items())
        root.write_text(f"{root.read_text()}\n[tool.dify-plugins]\n{lines}")

    return say


@pytest.fixture
def owned(command, workshop):
    """Package the agent plugin; return what was said on stderr, the identifier and its declarations."""

    def run():
        code, out, err = command("package", "small_agent")
        assert code == 0, err
        with zipfile.ZipFile(workshop / "dist" / "small_agent-0.0.1.difypkg") as archive:
            declared = {
                name: yaml.safe_load(archive.read(name))
                for name in archive.namelist()
                if name.endswith(".yaml")
            }
        return err, out.split()[-1], declared

    return run


def test_a_workspace_says_in_one_place_whose_its_plugins_are(own, owned):
    own(author="a-team", repository="https://example.org/a/b#c", contact="x@example.org")
    err, identifier, declared = owned()
    assert err == ""
    assert identifier.startswith("a-team/small_agent:0.0.1@")
    manifest = declared["manifest.yaml"]
    assert (manifest["author"], manifest["repo"], manifest["contact"]) == (
        "a-team",
        "https://example.org/a/b#c",
        "x@example.org",
    )
    assert declared["provider/small.yaml"]["identity"]["author"] == "a-team"
    assert declared["strategies/steps.yaml"]["identity"]["author"] == "a-team"


def test_a_readme_that_does_not_name_the_source_is_made_to(own, package):
    own(repository="https://example.org/a/b")
    added = {"README.md": "# Echo\n\n", "readme/README_ja_JP.md": "https://example.org/a/b です\n"}
    files = package(told="echo_model: without contact, which", **added)
    assert files["README.md"] == b"# Echo\n\nSource: <https://example.org/a/b>\n"
    assert files["readme/README_ja_JP.md"].decode() == added["readme/README_ja_JP.md"]


def test_a_manifest_may_end_with_its_author(own, owned, workshop):
    manifest = workshop / "plugins/small_agent/manifest.yaml"
    manifest.write_text(manifest.read_text().replace("author: tests\n", "") + "author: tests")
    own(contact="x@example.org")
    _, _, declared = owned()
    assert declared["manifest.yaml"]["contact"] == "x@example.org"


def test_what_it_does_not_say_is_left_out_and_told(own, owned):
    own(author="", repository="", contact="x@example.org")
    err, identifier, declared = owned()
    assert identifier.startswith("tests/small_agent:0.0.1@")
    assert "repo" not in declared["manifest.yaml"]
    assert declared["manifest.yaml"]["contact"] == "x@example.org"
    assert err == (
        "small_agent: without repo, which a marketplace asks for: see [tool.dify-plugins] of the workspace's pyproject.toml\n"
    )


def test_another_persons_declaration_stays_theirs(own, owned, workshop):
    folder = workshop / "plugins/small_agent"
    strategy = folder / "strategies/quiet.yaml"
    strategy.write_text(strategy.read_text().replace("author: tests", "author: somebody"))
    manifest = folder / "manifest.yaml"
    text = manifest.read_text().replace(
        "author: tests", "contact: old@example.org\r\nauthor: 'tests' # us\r"
    )
    manifest.write_text(text, newline="")
    own(author="1234", contact="new@example.org")
    _, _, declared = owned()
    assert declared["strategies/quiet.yaml"]["identity"]["author"] == "somebody"
    assert declared["strategies/steps.yaml"]["identity"]["author"] == "1234"
    assert declared["manifest.yaml"]["author"] == "1234"
    assert declared["manifest.yaml"]["contact"] == "new@example.org"


@pytest.mark.parametrize(
    "fault",
    [
        ({"author": 5}, "author: tests", "tool.dify-plugins.author: expected text, got 5"),
        ({"author": "A B"}, "author: tests", "got 'A B/small_agent:0.0.1'"),
        ({"author": "a"}, "'author': tests", "manifest.yaml: expected a line 'author: tests'"),
    ],
)
def test_names_that_cannot_be_written_make_no_package(own, command, workshop, fault):
    names, manifest, problem = fault
    own(**names)
    path = workshop / "plugins/small_agent/manifest.yaml"
    path.write_text(path.read_text().replace("author: tests", manifest))
    code, _, err = command("package", "small_agent")
    assert code == 2
    assert problem in err


@pytest.fixture
def alone(workshop, tmp_path):
    """Lay out a plugin outside of every workspace and repository, with all that an author may keep in its folder."""
    folder = tmp_path / "alone"
    shutil.copytree(workshop / "plugins" / "echo_model", folder)
    more = {
        ".difyignore": "build/\n",
        ".env.example": "KEY=",
        ".github/workflows/ci.yml": "x",
        "build/left.txt": "x",
        "requirements.txt": "dify-plugin==0.10.2\n",
        "secret_scanning.py": "",
        "tests/test_it.py": "",
        "uv.lock": "version = 1\n",
        "wheels/a.whl": "x",
    }
    for name, content in more.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def package_alone(command, alone, tmp_path):
    """Package that plugin; return what was said on stderr, the files and the identifier."""

    def run():
        code, out, err = command("package", alone, "--output", tmp_path / "alone.difypkg")
        assert code == 0, err
        with zipfile.ZipFile(tmp_path / "alone.difypkg") as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        return err, files, out.split()[-1]

    return run


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def checksum_of(files):
    """Return the checksum as the daemon counts it."""
    total = hashlib.sha256()
    for name in sorted(files, key=str.encode):
        total.update(hashlib.sha256(name.encode()).digest())
        total.update(hashlib.sha256(files[name]).digest())
    return total.hexdigest()


def test_outside_of_a_workspace_the_folder_is_packed_as_it_is(package_alone, alone):
    expected = files_of(alone)
    del expected["build/left.txt"]
    err, files, identifier = package_alone()
    assert (err, files) == ("", expected)
    assert identifier == f"tests/echo_model:0.0.1@{checksum_of(expected)}"


def test_what_is_private_stays_behind_and_the_other_checksum_is_told(package_alone, alone):
    expected = files_of(alone)
    del expected["build/left.txt"]
    names = (".env", "id_rsa", "secrets.json", "venv/bin/python", "logs/a.txt", "data/deploy")
    for name in names:
        (alone / name).parent.mkdir(parents=True, exist_ok=True)
        (alone / name).write_text(KEY if name == "data/deploy" else "x")
    err, files, _ = package_alone()
    assert files == expected
    assert err == (
        "alone: left out: .env, data/deploy, id_rsa, logs/, secrets.json, venv/; "
        "the checksum is not that of Dify's own packager\n"
    )


def test_what_git_does_not_know_stays_behind_there_as_well(package_alone, alone):
    expected = files_of(alone)
    del expected["build/left.txt"]
    git(alone, "init")
    git(alone, "add", ".")
    (alone / "draft.py").write_text("x")
    err, files, _ = package_alone()
    assert files == expected
    assert err.startswith("alone: left out: draft.py; the checksum is not")


@pytest.mark.parametrize(
    "name",
    [
        ".env.production",
        ".git-credentials",
        ".kube/config",
        ".python_history",
        ".vscode/launch.json",
        "ID_RSA",
        "Server.PEM",
        "credentials.toml",
        "prod.env",
        "terraform.tfstate.backup",
    ],
)
def test_where_git_knows_nothing_what_is_most_often_somebodys_own_stays_behind(
    package_alone, alone, name
):
    (alone / name).parent.mkdir(exist_ok=True)
    (alone / name).write_text("x")
    err, files, _ = package_alone()
    assert err.startswith(f"alone: left out: {name.rpartition('/')[0] or name}")
    assert name not in files
    assert {".env.example", ".github/workflows/ci.yml"} <= files.keys()


@pytest.mark.parametrize("damage", ["index", "folder"])
def test_where_git_cannot_be_asked_nothing_is_packed_by_chance(command, alone, tmp_path, damage):
    (alone / "draft.py").write_text("x")
    if damage == "index":
        git(alone, "init")
        (alone / ".git/index").write_text("x" * 100)
    else:
        (alone / ".git").write_text("gitdir: /nowhere/modules/alone")
    code, _, err = command("package", alone, "--output", tmp_path / "out.difypkg")
    assert code == 2
    assert "git cannot list the files of this repository: " in err
    assert "They can also be named in tool.dify-host.include" in err
    assert not (tmp_path / "out.difypkg").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_git_is_asked_about_a_folder_of_somebody_else(package_alone, alone):
    git(alone, "init")
    git(alone, "add", ".")
    (alone / "draft.py").write_text("x")
    for path in (alone, alone / ".git"):
        os.chown(path, 12_345, -1)
    err, files, _ = package_alone()
    assert err.startswith("alone: left out: draft.py; ")
    assert "draft.py" not in files


def test_git_knows_what_belongs_to_a_submodule(package_alone, alone, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "part.py").write_text("x")
    for folder in (other, alone):
        git(folder, "init")
        git(folder, "add", ".")
        git(folder, "commit", "-m", "x")
    git(alone, "-c", "protocol.file.allow=always", "submodule", "add", other, "vendor")
    (alone / "vendor/draft.py").write_text("x")
    err, files, _ = package_alone()
    assert err.startswith("alone: left out: vendor/draft.py; ")
    assert {"vendor/part.py", ".gitmodules"} <= files.keys()


def test_what_is_no_plain_file_is_refused(command, alone, tmp_path):
    os.mkfifo(alone / "pipe")
    code, _, err = command("package", alone, "--output", tmp_path / "out.difypkg")
    assert code == 2
    assert "pipe: expected a file or folder, got a pipe, a socket or a device" in err


def test_a_name_that_is_no_utf_8_is_refused(command, alone, tmp_path):
    (alone / os.fsdecode(b"\xff.txt")).write_text("x")
    code, _, err = command("package", alone, "--output", tmp_path / "out.difypkg")
    assert code == 2
    assert r"expected names in UTF-8, got b'\xff.txt'" in err


def test_a_plugin_with_a_list_of_requirements_alone_is_packed(package_alone, alone):
    for name in ("pyproject.toml", "uv.lock"):
        (alone / name).unlink()
    err, files, _ = package_alone()
    assert err == ""
    assert files["requirements.txt"] == b"dify-plugin==0.10.2\n"
    assert "pyproject.toml" not in files


@pytest.mark.parametrize("group", ["[dependency-groups]\ndev = []\n", ""])
def test_a_missing_list_of_requirements_is_made_of_the_lock(package_alone, alone, group):
    project = '[project]\nname = "alone"\nversion = "1.0"\nrequires-python = ">=3.12"\n'
    (alone / "pyproject.toml").write_text(project + group)
    lock = f"version = 1\nrequires-python = '>=3.12'\n{ELSEWHERE}\n"
    own = "[[package]]\nname = 'alone'\nversion = '1.0'\nsource = { virtual = '.' }\ndependencies = [{ name = 'elsewhere' }]\n"
    (alone / "uv.lock").write_text(lock + own)
    (alone / "requirements.txt").unlink()
    err, files, identifier = package_alone()
    assert (err, files["requirements.txt"]) == ("", b"elsewhere==1.2.3\n")
    assert identifier.endswith(checksum_of(files))


def test_an_ignore_file_may_be_a_link(package_alone, alone, tmp_path):
    (tmp_path / "rules").write_text("build/\ntests/\n")
    (alone / ".difyignore").unlink()
    (alone / ".difyignore").symlink_to(tmp_path / "rules")
    _, files, _ = package_alone()
    assert files[".difyignore"] == b"build/\ntests/\n"
    assert "tests/test_it.py" not in files


def test_a_package_is_deflated(package_alone, alone, tmp_path):
    (alone / "words.txt").write_text("word " * 100_000)
    package_alone()
    assert (tmp_path / "alone.difypkg").stat().st_size < 20_000


@pytest.mark.parametrize("pyproject", ["[project", "[project]\nname = 'x'", "[project]\nname = 'x'\nversion = '1'\nrequires-python = '>=3'\ndependencies = ['!']"])  # fmt: skip
def test_a_member_that_cannot_be_packaged_is_refused(command, workshop, pyproject):
    (workshop / "plugins/echo_model/pyproject.toml").write_text(pyproject)
    code, _, err = command("package", "echo_model")
    assert code == 2
    assert "echo_model/pyproject.toml: " in err


def test_what_the_platform_would_refuse_is_not_written(alone, tmp_path):
    with pytest.raises(PackageError, match="the platform has no room for it"):
        build_package(alone, tmp_path, judge=lambda _: ["the platform has no room for it"])
    assert not list(tmp_path.glob("*.difypkg"))


def test_a_link_in_a_list_is_refused(command, workshop, tmp_path):
    folder = workshop / "plugins/echo_model"
    (folder / "linked").symlink_to(tmp_path)
    project = folder / "pyproject.toml"
    project.write_text(f'{project.read_text()}\n[tool.dify-host]\ninclude = ["linked"]\n')
    code, _, err = command("package", "echo_model")
    assert code == 2
    assert "linked: expected a file or folder, got a link" in err


def test_a_link_in_a_plugin_is_refused(command, workshop):
    (workshop / "plugins/echo_model/linked.yaml").symlink_to("manifest.yaml")
    code, _, err = command("package", "echo_model")
    assert code == 2
    assert "linked.yaml: expected a file or folder, got a link" in err


def test_in_a_plugins_folder_it_needs_no_name(packager, monkeypatch, alone):
    monkeypatch.chdir(alone)
    code, out, _ = packager("package")
    assert code == 0
    assert out.startswith("dist/echo_model-0.0.1.difypkg  ")


def test_it_tells_its_version(packager):
    code, out, _ = packager("--version")
    assert (code, out.startswith("dify-plugin-packager 0.")) == (0, True)


def test_an_unknown_plugin_is_named(command):
    code, _, err = command("package", "nobody")
    assert code == 2
    assert "nobody: no such folder; expected a Dify plugin folder" in err


def test_where_there_is_no_folder_of_plugins_they_have_to_be_named(packager, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, _, err = packager("package")
    assert code == 2
    assert "here or in a parent folder; name the plugins by their folders instead" in err


def test_a_folder_without_plugins_is_named(command, workshop):
    shutil.rmtree(workshop / "plugins")
    (workshop / "plugins").mkdir()
    code, _, err = command("package")
    assert code == 2
    assert "plugins: contains no plugin (no folder with a manifest.yaml)" in err


def test_a_wheel_that_cannot_be_built_is_explained(command, workshop):
    shutil.rmtree(workshop / "packages/tiny-base/src")
    code, _, err = command("package", "echo_model")
    assert code == 1
    assert err.startswith("dify-plugin-packager: error: `uv build")
    assert json.dumps(err).count("\\n") == 1

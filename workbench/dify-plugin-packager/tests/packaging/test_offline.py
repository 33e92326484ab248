import json
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import uv
from distributions import Index, digest, sdist, source_files, wheel

from dify_plugin_packager import PackageError
from dify_plugin_packager.packaging import Archive, Platform, build_offline


PLUGIN = Path(__file__).parents[3] / "dify-plugin-host/tests/plugins/echo_model"
WIRE = PLUGIN.parent / "wire.py"
X86, ARM = Platform("x86_64"), Platform("aarch64")
HERE = Platform.of_this_machine()
LIMIT = 52_428_800
# Source: `internal/core/local_runtime/setup_python_environment.go` of langgenius/dify-plugin-daemon at bdb5642a
ROUTES = {
    "uv.lock": ("sync", "--no-dev", "--frozen"),
    "pyproject.toml": ("sync", "--no-dev"),
    "requirements.txt": ("pip", "install", "-r", "requirements.txt"),
}
ON_X86 = "cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64"
ON_ARM = "cp312-cp312-manylinux_2_17_aarch64"


def fill_index(path):
    """Return an index with two distributions for everyone, one for each processor, and one that is only a source."""
    index = Index(path)
    folder = index.folder
    wheel(folder, "plain", "1.0", "deep>=1", "more; extra == 'more'", "gone; os_name == 'nt'")
    wheel(folder, "deep", "1.5")
    wheel(folder, "more", "2.0")
    wheel(folder, "gone", "1.0", tag="py3-none-win_amd64")
    for tag in (ON_X86, ON_ARM):
        wheel(folder, "fast", "1.0", tag=tag)
    sdist(folder, "built", "1.0")
    return index


@pytest.fixture
def index(tmp_path):
    with fill_index(tmp_path / "index").serve() as index:
        yield index


def write_plugin(folder, files):
    """Write the folder of a plugin that installs what these files say, and return it."""
    shutil.copytree(PLUGIN, folder, ignore=shutil.ignore_patterns("pyproject.toml", "__pycache__"))
    shutil.copy(WIRE, folder)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def make_plugin(tmp_path):
    return lambda **files: write_plugin(tmp_path / "plugin", files)


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """Make an offline package for both platforms of a plugin whose lock is older than its index."""
    root = tmp_path_factory.mktemp("locked")
    needs = ("plain[more]", "fast", "built", "gone; sys_platform == 'win32'")
    with fill_index(root / "index").serve() as index:
        folder = write_plugin(root / "plugin", {"pyproject.toml": pyproject(index, *needs)})
        lock(folder)
        wheel(index.folder, "deep", "1.6")
        [package] = build_offline(folder, root / "offline", platforms=(X86, ARM), limit_bytes=LIMIT)
    return package


@pytest.fixture
def offline(tmp_path):
    """Make offline packages of a plugin, one or several, and return each with its files."""

    def make(source, *platforms, limit=LIMIT, **options):
        output = tmp_path / "offline"
        built = build_offline(
            source, output, platforms=platforms or (HERE,), limit_bytes=limit, **options
        )
        return [(package, dict(Archive.read(package.path).files)) for package in built]

    return make


@pytest.fixture
def command(monkeypatch, packager, tmp_path):
    """Run the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return packager


@pytest.fixture
def nobody(tmp_path):
    """A proxy that reaches nothing, and knows what was asked for."""
    with Index(tmp_path / "nothing").serve() as proxy:
        yield proxy


@pytest.fixture(scope="module")
def known_python(tmp_path_factory):
    """Make a cache in which uv has written down what it found out of Python, and nothing else."""
    cache = tmp_path_factory.mktemp("known-python")
    find = [uv.find_uv_bin(), "python", "find", "--quiet", "--cache-dir", cache, sys.executable]
    subprocess.run(find, check=True, capture_output=True)
    return cache


@pytest.fixture
def install_without_network(tmp_path, nobody, known_python):
    """Install a package by both routes where nothing can be reached and nothing is cached; return what each has installed."""

    def run(package):
        archive, found = Archive.read(package), []
        project = "uv.lock" if "uv.lock" in archive.files else "pyproject.toml"
        for route in (project, "requirements.txt"):
            folder = tmp_path / "installed" / route
            archive.extract(folder)
            cache = shutil.copytree(known_python, folder / ".cache")
            install(folder, ROUTES[route], cache=cache, proxy=f"http://{nobody.host}")
            list_all = [uv.find_uv_bin(), "pip", "freeze", "--python", folder / ".venv/bin/python"]
            listed = subprocess.run(list_all, check=True, capture_output=True, text=True).stdout
            found.append({line.partition(" @ ")[0] for line in listed.split("\n") if line})
        assert nobody.asked == []
        return found

    return run


def install(folder, route, *, cache, proxy):
    """Install a package as the daemon does: with these commands, and with nothing of the environment but its proxies."""
    environment = {"PATH": os.environ["PATH"], "VIRTUAL_ENV": str(folder / ".venv")}
    environment |= {"UV_CACHE_DIR": str(cache), "HTTP_PROXY": proxy, "HTTPS_PROXY": proxy}
    for arguments in (("venv", ".venv", "--python", sys.executable), route):
        run = [uv.find_uv_bin(), *arguments]
        subprocess.run(run, cwd=folder, env=environment, check=True, capture_output=True)


def pyproject(index, *dependencies, more="", source=None):
    source = source or f'url = "{index.url}"'
    return (
        f'[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.12"\ndependencies = {json.dumps(dependencies)}\n'
        f"[tool.uv]\npackage = false\nindex = [{{ {source}, default = true }}]\n{more}"
    )


def pyproject_beside(index, *dependencies, more=""):
    """Take the index as a folder: whatever is in one needs no pip, each start of which takes half a second."""
    source = f'url = "{index.folder.as_uri()}", format = "flat"'
    return pyproject(index, *dependencies, more=more, source=source)


def lock(folder):
    command = [uv.find_uv_bin(), "lock", "-q", "--python", sys.executable]
    subprocess.run(command, cwd=folder, check=True)


def wheels_of(files):
    found = (name.rpartition("wheels/") for name in files if name.endswith(".whl"))
    return sorted(name for before, folder, name in found if folder and not before)


def test_a_locked_plugin_installs_by_both_routes_where_nothing_can_be_reached(
    locked, install_without_network
):
    files = Archive.read(locked.path).files
    assert wheels_of(files) == [
        "built-1.0-py3-none-any.whl",
        "deep-1.5-py3-none-any.whl",
        f"fast-1.0-{ON_ARM}.whl",
        f"fast-1.0-{ON_X86}.whl",
        "more-2.0-py3-none-any.whl",
        "plain-1.0-py3-none-any.whl",
    ]
    assert (locked.wheels, locked.glibc, locked.notes) == (6, "2.17", ())
    assert files["main.py"] == (PLUGIN / "main.py").read_bytes()
    expected = {"built==1.0", "deep==1.5", "fast==1.0", "more==2.0", "plain==1.0"}
    assert install_without_network(locked.path) == [expected, expected]


def test_what_blocks_the_network_in_these_tests_stops_an_ordinary_package(
    index, make_plugin, command, install_without_network, nobody
):
    folder = make_plugin(**{"pyproject.toml": pyproject(index, "plain")})
    command("package", folder, "--output", "ordinary.difypkg")
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        install_without_network(Path("ordinary.difypkg"))
    assert b"plain" in stopped.value.stderr
    assert nobody.asked


@pytest.mark.long  # its short form: an offline package that is made anew
def test_the_same_sources_make_the_same_bytes(index, make_plugin, offline, tmp_path):
    folder = make_plugin(**{"pyproject.toml": pyproject(index, "fast", "built")})
    [(first, _)] = offline(folder)
    before = first.path.read_bytes()
    first.path.unlink()
    [(second, _)] = offline(folder.rename(tmp_path / "elsewhere"))
    assert second.path.read_bytes() == before
    assert second.identifier == first.identifier


def test_a_list_of_requirements_is_enough_and_its_private_index_stays_secret(
    index, make_plugin, offline, install_without_network, monkeypatch
):
    index.user = "robot:hunter2-hunter2"
    monkeypatch.setenv("INDEX_PASSWORD", "hunter2-hunter2")
    address = f"http://robot:${{INDEX_PASSWORD}}@{index.host}/simple"
    hashed = f"deep==1.5 --hash=sha256:{digest(index.folder / 'deep-1.5-py3-none-any.whl')}"
    files = {
        "requirements.txt": f"--index-url {address}\n-r more/list.txt\n-c bounds.txt\nplain[more]\n",
        "more/list.txt": f"--extra-index-url http://robot:hunter2-hunter2@{index.host}/simple\nfast\n",
        "bounds.txt": "deep<1.6\n",
        "pip.conf": "[global]\nindex-url = http://robot:hunter2-hunter2@example.org/simple\n",
    }
    wheel(index.folder, "deep", "1.7")
    [(package, files)] = offline(make_plugin(**files))
    assert not [name for name, content in files.items() if b"hunter2" in content]
    assert not [name for name, content in files.items() if index.host.encode() in content]
    assert package.notes == (
        "left out, because it holds the key of an index: more/list.txt, pip.conf",
    )
    assert files["requirements.txt"].decode().splitlines() == [
        "--no-index",
        "--find-links ./wheels",
        "deep==1.5",
        "fast==1.0",
        "more==2.0",
        "plain==1.0",
    ]
    by_lock, by_list = install_without_network(package.path)
    assert (
        by_lock == by_list == {hashed.split(maxsplit=1)[0], "fast==1.0", "more==2.0", "plain==1.0"}
    )


def test_an_index_that_uv_knows_by_name_is_opened_as_uv_does_it_and_needs_no_hashes(
    index, make_plugin, offline, monkeypatch
):
    index.user, index.has_hashes = "robot:a-long-password", False
    monkeypatch.setenv("UV_INDEX_OUR_OWN_USERNAME", "robot")
    monkeypatch.setenv("UV_INDEX_OUR_OWN_PASSWORD", "a-long-password")
    text = pyproject(index, "plain").replace("{ url", '{ name = "our-own", url')
    [(_, files)] = offline(make_plugin(**{"pyproject.toml": text}))
    assert wheels_of(files) == ["deep-1.5-py3-none-any.whl", "plain-1.0-py3-none-any.whl"]


def test_a_hash_that_does_not_fit_stops_it(index, make_plugin, offline):
    needs = ("deep", f"more @ http://{index.host}/files/more-2.0-py3-none-any.whl")
    folder = make_plugin(**{"pyproject.toml": pyproject(index, *needs)})
    lock(folder)
    wheel(index.folder, "deep", "1.5", padding=1)  # another file under the same name
    with pytest.raises(PackageError, match=r"(?i)hash"):
        offline(folder)


def test_what_is_gone_from_its_address_is_taken_by_its_hash_from_the_index_of_the_machine(
    index, make_plugin, offline, monkeypatch, tmp_path
):
    folder = make_plugin(**{"pyproject.toml": pyproject(index, "deep", "fast")})
    lock(folder)
    elsewhere = Index(tmp_path / "index")
    (folder / "uv.lock").write_text((folder / "uv.lock").read_text().replace("/files/", "/gone/"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", elsewhere.url)
    with elsewhere.serve():
        [(_, files)] = offline(folder)
    assert len(wheels_of(files)) == 2


def test_each_platform_gets_what_is_for_it(index, make_plugin, offline):
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]
    wheel(index.folder, "deep", "1.4")
    needs = (
        f"deep==1.4; platform_machine == '{other}'",
        f"deep==1.5; platform_machine != '{other}'",
        f"more; platform_machine == '{other}'",
    )
    folder = make_plugin(**{"pyproject.toml": pyproject_beside(index, *needs)})
    [(_, files)] = offline(folder, X86, ARM)
    lines = files["requirements.txt"].decode().splitlines()[2:]
    assert lines == [
        f"deep==1.4 ; platform_machine == '{other}'",
        f"deep==1.5 ; platform_machine == '{platform.machine()}'",
        f"more==2.0 ; platform_machine == '{other}'",
    ]


def test_what_a_lock_has_settled_against_the_metadata_stays_settled(
    index, make_plugin, offline, install_without_network
):
    wheel(index.folder, "deep", "0.5")
    wheel(
        index.folder, "asks", "1.0", "deep>=1", "gone @ https://example.org/gone-1-py3-none-any.whl"
    )
    wheel(index.folder, "gone", "3.0")
    more = 'override-dependencies = ["deep==0.5", "gone==3.0"]\n'
    folder = make_plugin(**{"pyproject.toml": pyproject_beside(index, "asks", more=more)})
    [(package, _)] = offline(folder)
    expected = {"asks==1.0", "deep==0.5", "gone==3.0"}
    assert install_without_network(package.path) == [expected, expected]


def test_projects_in_the_package_and_in_git_are_built_and_files_at_an_address_are_fetched(
    index, make_plugin, offline, tmp_path
):
    repository = tmp_path / "repository"
    lay_out(repository / "below", "from-git", "1.0")
    git(repository, "init", "--quiet")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "x")
    needs = (
        f"from-git @ git+{repository.as_uri()}#subdirectory=below",
        "from-folder",
        "from-wheel",
        f"deep @ http://{index.host}/files/deep-1.5-py3-none-any.whl",
        f"built @ http://{index.host}/files/built-1.0.tar.gz",
    )
    sources = (
        "[tool.uv.sources]\n"
        'from-folder = { path = "libs/from-folder", editable = true }\n'
        'from-wheel = { path = "libs/from_wheel-1.0-py3-none-any.whl" }\n'
    )
    folder = make_plugin(**{"pyproject.toml": pyproject(index, *needs, more=sources)})
    lay_out(folder / "libs" / "from-folder", "from-folder", "1.0")
    wheel(folder / "libs", "from-wheel", "1.0")
    [(_, files)] = offline(folder)
    assert [name.partition("-")[0] for name in wheels_of(files)] == [
        "built",
        "deep",
        "from_folder",
        "from_git",
        "from_wheel",
    ]


def lay_out(folder, name, version):
    folder.mkdir(parents=True)
    for file, text in source_files(name, version).items():
        (folder / file).write_text(text)


def git(folder, *arguments):
    settings = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True)


def test_a_plugin_that_is_a_package_itself_is_built_too(make_plugin, offline):
    [(_, files)] = offline(make_plugin(**source_files("echo-plugin", "1.0")))
    assert wheels_of(files) == ["echo_plugin-1.0-py3-none-any.whl"]


def test_all_that_cannot_be_brought_along_is_named_at_once(index, make_plugin, offline, tmp_path):
    wheel(index.folder, "only-x86", "1.0", tag=ON_X86)
    wheel(index.folder, "linked", "1.0", tag=ON_X86)
    sdist(index.folder, "native", "1.0", tag="cp312-cp312-linux_x86_64")
    wheel(tmp_path, "outside", "1.0")
    needs = ("only-x86", "native", "outside", "deep")
    needs = (*needs, f"linked @ http://{index.host}/files/linked-1.0-{ON_X86}.whl")
    sources = '[tool.uv.sources]\noutside = { path = "../outside-1.0-py3-none-any.whl" }\n'
    folder = make_plugin(**{"pyproject.toml": pyproject(index, *needs, more=sources)})
    lock(folder)
    with pytest.raises(PackageError) as raised:
        offline(folder, ARM)
    said = str(raised.value)
    assert "only-x86 1.0: has no wheel for linux_aarch64 and Python 3.12, and no source to" in said
    assert "linked 1.0: its wheel linked-1.0-cp312" in said
    assert "is not for linux_aarch64" in said
    assert "native 1.0: has no wheel for linux_aarch64, and its source builds one for a" in said
    assert "outside 1.0: comes from '../outside-1.0-py3-none-any.whl', outside of the" in said
    assert "deep" not in said


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda path: path.write_bytes(b"another"), "its hash is not the one that the lock names"),
        (Path.unlink, "No such file or directory"),
    ],
)
def test_a_wheel_of_the_plugin_has_to_be_the_one_of_its_lock(
    index, make_plugin, offline, spoil, problem
):
    more = '[tool.uv.sources]\nown = { path = "own-1.0-py3-none-any.whl" }\n'
    folder = make_plugin(**{"pyproject.toml": pyproject(index, "own", more=more)})
    path = wheel(folder, "own", "1.0")
    lock(folder)
    spoil(path)
    with pytest.raises(PackageError, match=f"own 1.0: own-1.0-py3-none-any.whl: {problem}"):
        offline(folder)


def test_a_source_that_cannot_be_built_is_named_with_its_last_words(index, make_plugin, offline):
    sdist(index.folder, "broken", "1.0")
    folder = make_plugin(**{"pyproject.toml": pyproject(index, "broken")})
    lock(folder)
    (index.folder / "broken-1.0.tar.gz").unlink()
    with pytest.raises(
        PackageError, match=r"broken 1.0: has no wheel, and building one failed: .*404"
    ):
        offline(folder, X86, ARM)


def test_what_does_not_fit_into_one_package_becomes_one_for_each_platform(
    index, make_plugin, command
):
    sources = {"x86_64": ON_X86, "aarch64": ON_ARM}
    listed = ", ".join(
        f"{{ path = 'large-1.0-{tag}.whl', marker = \"platform_machine == '{machine}'\" }}"
        for machine, tag in sources.items()
    )
    more = f"[tool.uv.sources]\nlarge = [{listed}]\n"
    folder = make_plugin(**{"pyproject.toml": pyproject(index, "large", more=more)})
    for tag in sources.values():
        wheel(folder, "large", "1.0", tag=tag, padding=300_000)
    both = ("--platform", "linux_x86_64", "--platform", "linux_aarch64")
    code, out, err = command("package", "--offline", folder, *both, "--max-size", "1")
    assert (code, len(out.splitlines())) == (0, 2), err
    names = [Path(line.partition("  ")[0]).name for line in out.splitlines()]
    assert names == [
        "echo_model-0.0.1-offline-linux_x86_64.difypkg",
        "echo_model-0.0.1-offline-linux_aarch64.difypkg",
    ]
    sizes = [(Path("dist") / name).stat().st_size for name in names]
    assert [int(line.split()[1]) for line in out.splitlines()] == sizes
    assert "1 wheel for linux_x86_64; 0.0 MB, unpacked 0.9 MB; needs glibc 2.17" in err
    one = ("--output", "one.difypkg")
    code, _, err = command("package", "--offline", folder, *both, "--max-size", "1", *one)
    assert code == 2
    assert "do not fit into one package of 1048576 bytes; expected a folder as output" in err


def test_what_is_over_the_limit_is_refused_with_its_largest_wheels(make_plugin, offline):
    folder = make_plugin(**{"requirements.txt": "--no-index\n--find-links .\nlarge\ndeep\n"})
    wheel(folder, "large", "1.0", padding=2_000_000)
    wheel(folder, "deep", "1.5")
    with pytest.raises(PackageError) as raised:
        offline(folder, X86, limit=1024 * 1024)
    assert (
        "for linux_x86_64 it holds 3.8 MB, over the 1 MB that a daemon takes unless its MAX_PLUGIN_PACKAGE_SIZE says"
        " otherwise; --max-size allows more. Largest: wheels/large-1.0-py3-none-any.whl 1.9 MB, wheels/deep-1.5"
    ) in str(raised.value)


def test_the_limit_holds_all_that_is_inside(make_plugin, offline):
    folder = make_plugin(**{"requirements.txt": ""})
    [(package, files)] = offline(folder)
    assert package.unpacked_bytes == sum(map(len, files.values()))
    offline(folder, limit=package.unpacked_bytes)
    with pytest.raises(PackageError, match=r"over the 0\.\d+ MB"):
        offline(folder, limit=package.unpacked_bytes - 1)


def test_a_strangers_signed_package_keeps_its_files_and_says_what_is_gone(
    index, make_plugin, command
):
    own = {"uv.toml": f'find-links = ["{index.folder}"]\nno-index = true\n'}
    own |= {".python-version": "3.13\n"}
    folder = make_plugin(**{"requirements.txt": "deep\n", "data/words.txt": "kept"}, **own)
    manifest = folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace('"3.12"', '"3.11"'))
    assert command("package", folder, "--output", "signed.difypkg")[0] == 0
    with zipfile.ZipFile("signed.difypkg", "a") as archive:
        archive.writestr(".verification.dify.json", "{}")
        archive.comment = b'{"signature": "x", "time": 1}'
    code, out, err = command("package", "--offline", "signed.difypkg")
    assert code == 0, err
    path, _, identifier = out.split()
    made, given = Archive.read(Path(path)), Archive.read(Path("signed.difypkg"))
    replaced = {*own, "requirements.txt", ".verification.dify.json"}
    kept = given.files.keys() - replaced
    assert {name: made.files[name] for name in kept} == {name: given.files[name] for name in kept}
    assert made.comment == b""
    assert not (replaced - {"requirements.txt"}) & made.files.keys()
    assert identifier.startswith("tests/echo_model:0.0.1@")
    assert err.splitlines()[1:] == [
        "signed.difypkg: its signature was removed, because it covers other files",
        "signed.difypkg: left out, because it would send uv to another index or Python: uv.toml, .python-version",
        "signed.difypkg: manifest.yaml names Python 3.11; the daemon always uses 3.12",
    ]


def test_an_offline_package_can_be_made_anew(locked, command):
    both = ("--platform", "linux_x86_64", "--platform", "linux_aarch64")
    code, out, err = command("package", "--offline", locked.path, *both)
    assert code == 0, err
    assert Path(out.partition("  ")[0]).read_bytes() == locked.path.read_bytes()


def test_a_plugin_of_a_workspace_takes_its_members_along(workshop, command, monkeypatch):
    monkeypatch.chdir(workshop)
    (workshop / "plugins" / "echo_model" / "id_rsa").write_text("x")
    shutil.rmtree(workshop / "plugins" / "small_agent")
    code, out, err = command("package", "--offline", "--output", "one.difypkg")
    assert (code, out.split()[0]) == (0, "one.difypkg"), err
    assert "echo_model: left out: id_rsa\n" in err
    names = [name.partition("-")[0] for name in wheels_of(Archive.read(Path("one.difypkg")).files)]
    assert names == ["dify_plugin", "tiny_base", "tiny_top"]


def test_a_plugin_without_any_list_is_refused(make_plugin, offline):
    with pytest.raises(PackageError, match=r"expected a file 'pyproject.toml' or 'requirements"):
        offline(make_plugin())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"pyproject.toml": b"x ="}, "pyproject.toml: expected TOML"),
        ({"manifest.yaml": b"["}, "manifest.yaml: expected YAML"),
        ({"_assets/icon.svg": b""}, "the platform has no room for an empty icon"),
    ],
)
def test_a_damaged_package_is_refused(make_plugin, offline, command, changed, said):
    command("package", make_plugin(), "--output", "whole.difypkg")
    with zipfile.ZipFile("damaged.difypkg", "w") as archive:
        for name, content in (dict(Archive.read(Path("whole.difypkg")).files) | changed).items():
            archive.writestr(name, content)

    def judge(files):
        return [] if files["_assets/icon.svg"] else ["the platform has no room for an empty icon"]

    with pytest.raises(PackageError) as raised:
        offline(Path("damaged.difypkg"), judge=judge)
    assert said in str(raised.value)


def test_a_lock_for_another_python_is_refused(index, make_plugin, offline):
    folder = make_plugin(**{"pyproject.toml": pyproject(index, "more")})
    lock(folder)
    path = folder / "uv.lock"
    path.write_text(path.read_text().replace('python = ">=3.12"', 'python = ">=3.13"'))
    with pytest.raises(PackageError, match=r"more 2\.0: not for Python 3\.12"):
        offline(folder)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--offline", "--platform", "macosx"), "expected one of linux_x86_64, linux_aarch64"),
        (("--platform", "linux_x86_64"), "expected --offline with it"),
    ],
)
def test_options_that_mean_nothing_are_named(command, arguments, said):
    code, _, err = command("package", *arguments)
    assert code == 2
    assert said in err

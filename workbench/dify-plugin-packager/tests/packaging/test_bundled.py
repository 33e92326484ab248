"""What a package carries is installed from it, wherever the installer runs and whatever an index offers under the same names."""

import base64
import hashlib
import importlib.metadata
import io
import os
import subprocess
import sys
import zipfile

import pytest
import uv

from dify_plugin_packager.packaging import BundledWheel, build_requirements


PIP = (sys.executable, "-m", "pip", "install", "--disable-pip-version-check")
OLD_PIP = (uv.find_uv_bin(), "tool", "run", "--python", sys.executable, "--from", "pip==23.2.1", "pip", "install")  # fmt: skip
UV = (uv.find_uv_bin(), "pip", "install", "--no-config", "--python", sys.executable)
NAMES = {"dify-plugin": "0.10.2", "tiny-base": "0.1.0", "tiny-top": "0.1.0"}
EVIL = "raise SystemExit('from the index')"


def write_wheel(folder, name, version, tags="py3-none-any", code=EVIL):
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{module}-{version}-{tags}.whl", "w") as wheel:
        wheel.writestr(f"{module}/__init__.py", code)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")  # fmt: skip
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tags.split('-', tags.count('-') - 2)[-1]}\n")  # fmt: skip
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def unpacked(packages, tmp_path):
    with zipfile.ZipFile(packages / "echo_model.difypkg") as archive:
        archive.extractall(tmp_path / "a folder" / "unpacked")
    return tmp_path / "a folder" / "unpacked"


@pytest.fixture
def hostile_index(tmp_path):
    """Offer others' packages by our names: later ones, the same versions, and such as installers like better."""

    def make(*, digests):
        root = tmp_path / f"index {digests}"
        for name, version in NAMES.items():
            folder = root / name
            folder.mkdir(parents=True)
            for other in ("99.0", version, f"{version}.post1", f"{version}+bundle.1"):
                write_wheel(folder, name, other)
            same = f"{version}+bundle"
            here = f"cp{sys.version_info.major}{sys.version_info.minor}-none-any"
            for tags in ("py3-none-any", "9-py3-none-any", here):
                write_wheel(folder, name, same, tags)
            links = [link_to(path, digests=digests) for path in sorted(folder.glob("*.whl"))]
            (folder / "index.html").write_text("\n".join(["<!DOCTYPE html>", *links]))
        return root.as_uri()

    return make


def link_to(path, *, digests):
    fragment = f"#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}" if digests else ""
    return f'<a href="{path.name}{fragment}">{path.name}</a>'


def install(command, unpacked, *options):
    """Install a package's requirements from another folder, as the marketplace does; return the process."""
    requirements = ["-r", f"{unpacked.name}/requirements.txt"]
    target = ["--target", str(unpacked.parent / "installed")]
    return subprocess.run(
        [*command, "--quiet", "--no-cache-dir", *target, *requirements, *options],
        cwd=unpacked.parent,
        env={name: text for name, text in os.environ.items() if not name.startswith("PIP_")},
        capture_output=True,
        text=True,
        check=False,
    )


def versions_in(folder):
    found = importlib.metadata.distributions(path=[str(folder)])
    return {distribution.name: distribution.version for distribution in found}


@pytest.mark.parametrize("command", [PIP, UV], ids=["pip", "uv"])
def test_the_list_installs_from_another_folder_without_an_index(command, unpacked):
    done = install(command, unpacked, "--no-index")
    assert done.returncode == 0, done.stderr
    installed = unpacked.parent / "installed"
    assert versions_in(installed) == {name: f"{version}+bundle" for name, version in NAMES.items()}


def check_ours_wins(command, unpacked, index, *more):
    others = [f"--extra-index-url={one}" for one in more or (index,)]
    done = install(command, unpacked, "--index-url", index, *others)
    assert done.returncode == 0, done.stderr
    for module in ("tiny_base", "tiny_top", "dify_plugin"):
        source = (unpacked.parent / "installed" / module / "__init__.py").read_text()
        assert source != EVIL


def test_no_index_can_take_the_place_of_what_is_bundled(unpacked, hostile_index):
    check_ours_wins(UV, unpacked, hostile_index(digests=True))


def test_nor_can_it_with_pip_whether_or_not_it_says_hashes(unpacked, hostile_index):
    check_ours_wins(PIP, unpacked, hostile_index(digests=True), hostile_index(digests=False))


def test_uv_stops_where_such_an_index_offers_what_suits_the_machine_better(unpacked, hostile_index):
    done = install(UV, unpacked, "--index-url", hostile_index(digests=False))
    assert done.returncode
    assert "Hash mismatch" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("digests", [True, False])
def test_an_old_pip_takes_what_is_bundled_as_well(unpacked, hostile_index, digests):
    check_ours_wins(OLD_PIP, unpacked, hostile_index(digests=digests))


@pytest.fixture
def wheel():
    """Make a wheel with scripts and data, and one more module whose name begins like its own."""
    stem = "the_tool-1.0"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("the_tool.py", "")
        archive.writestr(f"{stem}.dist-info-of-old/a.txt", "a, b")
        archive.writestr(f"{stem}.data/scripts/run", "#!python")
        archive.writestr(f"{stem}.dist-info/METADATA", "Metadata-Version: 2.1\nName: the-tool\nVersion: 1.0\n\nVersion: all of them\n")  # fmt: skip
        archive.writestr(f"{stem}.dist-info/RECORD", "")
    return out.getvalue()


@pytest.mark.parametrize(
    ("version", "labelled"), [("1.0", "1.0+bundle"), ("1.0+ours.1", "1.0+ours.1.bundle")]
)
def test_a_wheel_gets_a_local_version_and_is_a_whole_one(wheel, version, labelled):
    renamed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(wheel)) as given, zipfile.ZipFile(renamed, "w") as archive:
        for name in given.namelist():
            archive.writestr(name.replace("-1.0", f"-{version}"), given.read(name))
    bundled = BundledWheel.relabel(f"the_tool-{version}-1-py3-none-any.whl", renamed.getvalue())
    assert (bundled.name, bundled.version) == ("the-tool", labelled)
    assert bundled.file_name == f"the_tool-{labelled}-1-py3-none-any.whl"
    with zipfile.ZipFile(io.BytesIO(bundled.content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    info = f"the_tool-{labelled}.dist-info"
    assert f"\nVersion: {labelled}\n\nVersion: all of them".encode() in files[f"{info}/METADATA"]
    assert {f"the_tool-{labelled}.data/scripts/run", "the_tool.py"} < files.keys()
    recorded = dict(line.split(",", 1) for line in files[f"{info}/RECORD"].decode().splitlines())
    assert recorded.keys() == files.keys()
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"#!python").digest()).decode().rstrip("=")
    assert recorded[f"the_tool-{labelled}.data/scripts/run"] == f"sha256={digest},8"


def test_where_not_everything_has_a_hash_nothing_has_one(wheel):
    bundled = BundledWheel.relabel("the_tool-1.0-py3-none-any.whl", wheel)
    exported = f"./{bundled.path} \\\n    --hash=sha256:0\nother==2 ; sys_platform == 'linux'\n"
    assert build_requirements(exported, [bundled]).splitlines() == [
        "--find-links ./wheels",
        "other==2 ; sys_platform == 'linux'",
        "the-tool==1.0+bundle",
    ]

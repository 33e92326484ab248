"""`dify-host package` and `dify-host check` together; what a package holds is tested in dify-plugin-packager."""

import shutil

import pytest


@pytest.fixture
def dify_host(dify_host, monkeypatch, workshop):
    """Run the installed command in the workshop; return exit code, stdout and stderr."""
    monkeypatch.chdir(workshop)
    return dify_host


@pytest.fixture
def alone(workshop, tmp_path):
    """Lay out a plugin outside of every workspace, with the files that say what to install."""
    folder = tmp_path / "alone"
    shutil.copytree(workshop / "plugins" / "echo_model", folder)
    (folder / "requirements.txt").write_text("dify-plugin==0.10.2\n")
    (folder / "uv.lock").write_text("version = 1\n")
    return folder


@pytest.mark.parametrize(
    ("fault", "options"),
    [
        (("provider/echo.yaml", b"label: 5", "echo.yaml: line 1: 'label': expected a map"), ()),
        (("zeros.bin", bytes(52_428_801), "expected at most 52428800 bytes, got 52"), ()),
        (("_assets/icon.svg", None, "expected a file '_assets/icon.svg'"), ("--offline",)),
    ],
)
def test_what_the_platform_would_refuse_is_not_written(dify_host, alone, fault, options):
    name, content, problem = fault
    if content is None:
        (alone / name).unlink()
    else:
        (alone / name).write_bytes(content)
    out = alone.parent / "out.difypkg"
    code, _, err = dify_host("package", alone, "--output", out, *options)
    assert code == 2
    assert problem in err
    assert not out.exists()


def test_what_package_writes_check_takes(dify_host, alone, tmp_path):
    dify_host("package", alone, "--output", tmp_path / "alone.difypkg")
    code, out, _ = dify_host("check", tmp_path / "alone.difypkg", "--quick")
    assert code == 0, out

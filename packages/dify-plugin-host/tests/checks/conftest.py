"""The check as its tests call it."""

import json
import sys

import pytest


@pytest.fixture
def quick_check(monkeypatch, capsys, tmp_path, console_scripts):
    """Check a package by the installed command; return exit code and findings as (kind, check, text)."""
    command = console_scripts["dify-host"]
    monkeypatch.chdir(tmp_path)

    def run(content):
        (tmp_path / "p.difypkg").write_bytes(content)
        monkeypatch.setattr(sys, "argv", ["dify-host", "check", "p.difypkg", "--quick", "--json"])
        with pytest.raises(SystemExit) as ended:
            command.load()()
        results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        findings = [
            (finding["kind"], result["name"], finding["text"])
            for result in results
            for finding in result["findings"]
        ]
        return ended.value.code or 0, findings

    return run

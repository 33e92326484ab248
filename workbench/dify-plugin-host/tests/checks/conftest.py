"""The check as its tests call it."""

import json

import pytest


@pytest.fixture
def quick_check(dify_host, monkeypatch, tmp_path):
    """Check a package by the installed command; return exit code and findings as (kind, check, text)."""
    monkeypatch.chdir(tmp_path)

    def run(content):
        (tmp_path / "p.difypkg").write_bytes(content)
        code, out, _ = dify_host("check", "p.difypkg", "--quick", "--json")
        results = [json.loads(line) for line in out.splitlines()]
        findings = [
            (finding["kind"], result["name"], finding["text"])
            for result in results
            for finding in result["findings"]
        ]
        return code, findings

    return run

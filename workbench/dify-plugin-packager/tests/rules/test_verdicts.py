"""The rules against the daemon's own verdicts on damaged packages.

`verdicts.json` was measured: a program on top of the daemon's checkout took each package of `damages.py` as an upload and an installation do,
and said why not; what it took, the SDK's loader read. The kind of a finding and the field that it names are compared.
"""

import json
import re
from pathlib import Path

import pytest
from damages import DAMAGES, make


VERDICTS = json.loads(Path(__file__).with_name("verdicts.json").read_text())["verdicts"]
DECLARATIONS = {"manifest.yaml", "providers", "models, tools and strategies", "icons"}
# What the daemon's error names, and what a finding has to name then.
NAMED = [
    (r"^ +line (\d+): (?:cannot|mapping key)", r"line \1:"),
    (r"failed to (?:read|unmarshal) .*file: (.+)", r"\1"),
    (r"file not found: (.+)", r"\1"),
    (r"^open \ufffd*(\S+): (?:file does not exist|invalid argument)", r"\1"),
    (r"use_template (\w+) not found", r"\1"),
    (r"parsing time", "'created_at'"),
    (r"^(?:author must be|cannot set author)", "'author'"),
    (r"^plugin name must be", "'name'"),
    (r"^plugin_unique_identifier is not valid", "author/name:version@checksum"),
    (r"must be provided|at the same time", "'plugins'"),
    (r"decimal", "'pricing.input'"),
    (r"contains itself|unknown anchor '(\w+)'", "anchor"),
    (r"read (\w+): is a directory", r"\1/"),
    (r"mkdirat (\S+): file exists", r"\1"),
    (r"failed to parse ([\w.]+): expected mapping value for key (\w+)", r"\1.\2"),
    (r"unsupported value: (NaN|\+Inf)", "a number"),
    (r"unsupported type: map\[interface", "a text as key"),
]  # fmt: skip


def named(error):
    """Return what the daemon's error names."""
    return {match.expand(wanted) for pattern, wanted in NAMED for match in re.finditer(pattern, error, re.MULTILINE)}  # fmt: skip


def test_every_damage_has_a_verdict():
    assert DAMAGES.keys() == VERDICTS.keys()
    assert len(DAMAGES) > 200
    assert len({name.partition(":")[0] for name in DAMAGES}) > 60


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("name", DAMAGES)
def test_the_rules_say_what_the_platform_says(findings_of, name):
    findings = findings_of(make(name))
    verdict = VERDICTS[name]
    refused = "\n".join(text for kind, _, text in findings if kind == "refused")
    assert bool(refused) == bool(verdict["daemon"])
    shown = refused.replace(r"\\", "\\")
    assert all(part in shown for part in named(verdict["daemon"])), verdict["daemon"]
    # What Dify itself cannot use, neither the daemon nor the SDK has judged.
    broken = [
        text
        for kind, row, text in findings
        if kind == "broken" and row in DECLARATIONS and "in Dify 1." not in text
    ]
    assert not (broken and verdict.get("sdk_loads")), broken

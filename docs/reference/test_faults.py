"""What is wrong with a reference is found, and nothing else is."""

import sys
from pathlib import Path

import pytest
from pdoc.doc import Module

from faults import find_broken_links, find_undocumented, find_unknown_names


def test_a_public_name_without_a_docstring_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "half_told.py").write_text(
        '"""A module."""\n\n'
        'A = 1\n"""Told."""\nB = 2\n\n\n'
        'class C:\n    """Told."""\n\n    def told(self):\n        """Return."""\n\n    def untold(self): ...\n    def _own(self): ...\n'
    )
    found = list(find_undocumented([Module.from_name("half_told")]))
    sys.modules.pop("half_told")
    assert found == ["half_told.B: no docstring", "half_told.C.untold: no docstring"]


def test_a_name_that_does_not_exist_is_found() -> None:
    texts = {
        "page": "`pathlib.Path.exists()`, `pathlib.Path.absent`, `pathlib.nothing(1)`, `os.nothing`"
    }
    found = find_unknown_names(texts, ["pathlib"])
    assert sorted(found) == [
        "page: pathlib.Path.absent does not exist",
        "page: pathlib.nothing does not exist",
    ]


def test_what_leads_nowhere_or_needs_a_network_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"></a><a href="b.html#there"></a><a href="https://example.com/"></a>'
        '<a href="#gone"></a><a href="c.html"></a><img src="no.svg"><script src="//cdn.example/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there">')
    assert sorted(find_broken_links(tmp_path)) == [
        "a.html: loads //cdn.example/x.js",
        "a.html: no page //cdn.example/x.js",
        "a.html: no page c.html",
        "a.html: no page no.svg",
        "a.html: no place #gone on a.html",
    ]

"""The page that says where each thing is decided names files, functions and classes that exist."""

import ast
import re

import pytest
from tracked import ROOT

from sessions.members import PACKAGES, PLUGINS


PAGE = (ROOT / "docs/where.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| (.*\?) \| \[`(.*)`\]\(\.\./(.*)\) \| `(.*)` \|$", re.MULTILINE)
ROWS = _ROW.findall(PAGE)
SECTIONS = re.findall(r"^## `(\w+)/`.*\n((?:.*\n)*?)(?=## |\Z)", PAGE, re.MULTILINE)


def test_each_question_stands_there_once_and_there_are_no_other_rows() -> None:
    assert len(ROWS) == len({question for question, *_ in ROWS}) > 50
    assert PAGE.count("\n|") - len(ROWS) == 2 * PAGE.count("\n## ")


def test_each_question_stands_below_its_shelf() -> None:
    assert [shelf for shelf, _ in SECTIONS] == ["plugins", "packages", "servers", "workbench"]
    for shelf, section in SECTIONS:
        rows = _ROW.findall(section)
        assert [link for _, _, link, _ in rows if not link.startswith(f"{shelf}/")] == []


@pytest.mark.parametrize(("question", "path", "link", "name"), ROWS)
def test_what_answers_a_question_exists(question: str, path: str, link: str, name: str) -> None:
    places = {(folder.parent / path).as_posix() for folder in PLUGINS.values()}
    places |= {(folder / "src" / path).as_posix() for folder in PACKAGES.values()}

    assert link in places, question
    defined = [
        node.name
        for node in ast.parse((ROOT / link).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert name in defined, question

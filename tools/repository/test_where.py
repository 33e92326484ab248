"""The page that says where each thing is decided names files, functions and classes that exist."""

import ast
import re

import pytest
from tracked import ROOT

from sessions.members import PACKAGES, PLUGINS


PAGE = (ROOT / "docs/where.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.*\?) \| `(.*)` \| `(.*)` \|$", PAGE, re.MULTILINE)


def test_each_question_stands_there_once_and_there_are_no_other_rows() -> None:
    assert len(ROWS) == len({question for question, *_ in ROWS}) > 50
    assert PAGE.count("\n|") - len(ROWS) == 2 * PAGE.count("\n## ")


@pytest.mark.parametrize(("question", "path", "name"), ROWS)
def test_what_answers_a_question_exists(question: str, path: str, name: str) -> None:
    places = {ROOT / folder.parent / path for folder in PLUGINS.values()}
    places |= {ROOT / folder / "src" / path for folder in PACKAGES.values()}
    found = [place for place in places if place.exists()]

    assert len(found) == 1, question
    defined = [
        node.name
        for node in ast.parse(found[0].read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert name in defined, question

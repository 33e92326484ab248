"""Three rules for docstrings that the linter does not have: CONTRIBUTING.md, "Docstrings"."""

import ast
import re
from collections.abc import Iterator

import pytest
from tracked import ROOT, list_files


# A verb or a question where a noun phrase belongs. A list, for no rule tells "Answer every request." from "Answers of a server."
_NO_NOUN = re.compile(
    r"(?:Answer|Ask|Be|Build|Call|Check|Collect|Convert|Count|Create|Decide|Describe|Do|Drive|Fail|Feed|Filter|Find|Follow|"
    r"Get|Give|Go|Have|Hide|Hold|Keep|Let|Limit|List|Look|Make|Name|Note|Offer|Open|Parse|Pass|Play|Print|Put|Raise|Read|"
    r"Record|Refuse|Remember|Replay|Represent|Return|Run|Say|Send|Serve|Show|Stand|Start|Stop|Store|Stream|Take|Tell|Try|"
    r"Turn|Use|Wait|Watch|Work|Wrap|Write|Yield|"
    r"Asks|Decides|Describes|Does|Fails|Feeds|Gives|Goes|Has|Hides|Holds|Is|Keeps|Lets|Makes|Puts|Raises|Reads|Remembers|"
    r"Says|Sends|Serves|Takes|Tells|Tries|Writes|Yields|"
    r"How|When|Where|Which|Who|Whom|Why|"
    r"After|Before|Instead)(?![\w-])"
)
_NEAR_CLASS = re.compile(rf'class \w.{{0,500}}?"""{_NO_NOUN.pattern}', re.DOTALL)
_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_ERROR = re.compile(r"`?[A-Za-z_][\w.]*`?: If \S")
_LONGEST = 150


def find_faults(code: str) -> Iterator[str]:
    """Iterate over the docstrings of classes that are no noun phrase, the `Raises:` entries without a condition, and the lines that are too long."""
    lines = code.split("\n")
    long = {number for number, line in enumerate(lines, 1) if len(line) > _LONGEST}
    if not long and "Raises:" not in code and not _NEAR_CLASS.search(code):
        return  # as two of three modules, and to parse them takes the longest
    tree = ast.parse(code)
    for text in _iter_texts(tree) if long else ():
        for number in sorted(long.intersection(range(text.lineno, (text.end_lineno or 0) + 1))):
            yield f"{number}: expected at most {_LONGEST} characters in a line of a docstring, got {len(lines[number - 1])}"
    for node in _iter_definitions(tree):
        docstring = ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef) and _NO_NOUN.match(docstring):
            yield f"{node.lineno}: expected a noun phrase, got {docstring.splitlines()[0]!r}"
        for entry in _raises_entries(docstring):
            if not _ERROR.match(entry):
                yield f"{node.lineno}: expected `SomeError: If <condition>.`, got {entry!r}"


def _iter_definitions(node: ast.AST) -> Iterator[_Definition]:
    """Iterate over the classes and functions of a module, in whatever statements, but not inside expressions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            if isinstance(child, _Definition):
                yield child
            yield from _iter_definitions(child)


def _iter_texts(tree: ast.AST) -> Iterator[ast.Expr]:
    """Iterate over the docstrings of a module, those of attributes included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node


def _raises_entries(docstring: str) -> Iterator[str]:
    _, _, section = docstring.partition("\nRaises:\n")
    for line in section.splitlines():
        if line and not line.startswith(" "):
            return
        if re.match(r" {4}\S", line):
            yield line.strip()


def test_docstrings_follow_the_rules() -> None:
    modules = list_files(".py")
    texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in modules}

    folders = {path.parts[0] for path in modules}
    assert folders >= {"checks", "noxfile.py", "packages", "plugins", "tools"}
    assert [f"{path}:{fault}" for path in modules for fault in find_faults(texts[path])] == []


@pytest.mark.parametrize(
    "docstring",
    [
        "A tool call that may run.",
        "Answers of a server, in order.",
        "Read-only views.",
        "What a model asks for.",
        "A tool.\n\n    Raises:\n        ToolError: If it is broken,\n            or gone.\n\n    Source: our choice.",
        "A tool.\n\n    Raises:\n        json.JSONDecodeError: If it is broken.\n        ValueError: If it is empty.",
    ],
)
def test_a_docstring_that_follows_the_rules_is_no_fault(docstring: str) -> None:
    assert list(find_faults(f'class Tool:\n    """{docstring}"""\n')) == []


@pytest.mark.parametrize(
    "docstring", ["Hold a tool.", "Says one word.", "Where runs are stored.", "Run: one at a time."]
)
@pytest.mark.parametrize("outside", ["", "def test_tool():\n    "])
def test_a_class_that_is_no_noun_phrase_is_found(docstring: str, outside: str) -> None:
    [fault] = find_faults(f'{outside}class Tool: """{docstring}"""\n')

    assert fault.endswith(f"expected a noun phrase, got {docstring!r}")


@pytest.mark.parametrize(
    "entry",
    [
        "ToolError: Something is broken.",
        "KeyError, ValueError: If something is broken.",
        "ToolError if it is broken.",
        "ToolError: If",
    ],
)
@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_an_error_without_its_condition_is_found(entry: str, keyword: str) -> None:
    good = "OSError: If it cannot be read."
    code = f'{keyword} read():\n    """Read.\n\n    Raises:\n        {good}\n        {entry}\n    """\n'

    [fault] = find_faults(code)

    assert fault == f"1: expected `SomeError: If <condition>.`, got {entry!r}"


def test_a_function_may_begin_with_a_verb() -> None:
    assert list(find_faults('def hold():\n    """Hold."""\n')) == []


@pytest.mark.parametrize(
    "opening", ["", "LIMIT = 5\n", "class Tool:\n    ", "def test_tool() -> None:\n    "]
)
def test_only_a_docstring_s_line_over_150_characters_is_found(opening: str) -> None:
    indent = opening.rpartition("\n")[2]

    def write(length: int) -> str:
        return f'{opening}"""A tool.\n\n{indent}{"a" * (length - len(indent))}\n{indent}"""\n# {"a" * 150}\n'

    assert list(find_faults(write(150))) == []
    [fault] = find_faults(write(151))
    assert (
        fault
        == f"{opening.count('\n') + 3}: expected at most 150 characters in a line of a docstring, got 151"
    )

"""Parser of Google-style docstrings: the description and the `Args:`, which are all that tools need."""

import re
import textwrap


_SECTION = re.compile(
    r"^(Args|Arguments|Parameters|Attributes|Example|Examples|Note|Notes|Raises|Returns|Source|Yields):$",
    re.MULTILINE,
)
_OF_ARGUMENTS = frozenset({"Args", "Arguments", "Parameters"})
_AFTER_NAME = r"[ \t]*(?:\([^)\n]*\))?:"
# A line that names nothing continues the entry before.
_ARGUMENT = re.compile(
    rf"^\*{{0,2}}(\w+){_AFTER_NAME}(.*(?:\n(?!\*{{0,2}}\w+{_AFTER_NAME}).*)*)", re.MULTILINE
)


def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Parse a docstring that `inspect` has cleaned.

    Returns:
        Everything before the first section, one paragraph a line; and the description of each argument that `Args:` names.
    """
    described, *sections = _SECTION.split(text)
    named = zip(sections[::2], sections[1::2], strict=True)
    arguments = "\n".join(part for name, part in named if name in _OF_ARGUMENTS)
    found = _ARGUMENT.findall(textwrap.dedent(arguments))
    paragraphs = described.strip().split("\n\n")
    description = "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    return description, {name: " ".join(said.split()) for name, said in found}

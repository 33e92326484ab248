"""Finding things in plain words: sums, numbers, quotations, addresses, dates."""

import ast
import json
import re

from gpt5_simulator._json import is_object


_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_URL = re.compile(r"https?://[^\s\"'<>`]+[^\s\"'<>`.,;:?!)]")
_EMAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|`([^`]+)`|「([^」]+)」|(?<!\w)'([^']+)'(?!\w)")
_SUM = re.compile(r"[(\d.+-][\d\s.()+\-*/%]*[\d)]")
_N = r"(-?\d+(?:\.\d+)?)"
_PHRASES = tuple(
    (re.compile(pattern, re.IGNORECASE), template)
    for pattern, template in (
        (rf"\bmultiply\s+{_N}\s+(?:by|with|and)\s+{_N}", r"\1 * \2"),
        (rf"\bdivide\s+{_N}\s+by\s+{_N}", r"\1 / \2"),
        (rf"\badd\s+{_N}\s+(?:to|and|with)\s+{_N}", r"\1 + \2"),
        (rf"\bsubtract\s+{_N}\s+from\s+{_N}", r"\2 - \1"),
        (rf"\b(?:sum|total)\s+of\s+{_N}\s+and\s+{_N}", r"\1 + \2"),
        (rf"\bproduct\s+of\s+{_N}\s+and\s+{_N}", r"\1 * \2"),
        (rf"\bdifference\s+(?:between|of)\s+{_N}\s+and\s+{_N}", r"\1 - \2"),
        (rf"\bsquare\s+root\s+of\s+{_N}", r"\1 ** 0.5"),
        (rf"\bsquare\s+(?:of\s+)?{_N}", r"\1 ** 2"),
        (rf"\bdouble\s+(?:of\s+)?{_N}", r"\1 * 2"),
        (rf"\b(?:halve|half\s+of)\s+{_N}", r"\1 / 2"),
        (rf"{_N}\s*(?:%|percent)\s+of\s+{_N}", r"\1 / 100 * \2"),
        (rf"{_N}\s+squared\b", r"\1 ** 2"),
        (r"\s*(?:\btimes\b|\bmultiplied\s+by\b|\u00d7|(?<=\d)\s*x\s*(?=\d))\s*", " * "),
        (r"\s*(?:\bdivided\s+by\b|\bover\b|\u00f7)\s*", " / "),
        (r"\s*\bplus\b\s*", " + "),
        (r"\s*\bminus\b\s*", " - "),
        (r"\s*(?:\bto\s+the\s+power\s+of\b|\^)\s*", " ** "),
    )
)


def find_expressions(text: str) -> list[str]:
    """Return the arithmetic expressions in a text, those in words too, each as Python would read it."""
    plain = _THOUSANDS.sub("", _DATE.sub(" ", text))
    for pattern, template in _PHRASES:
        plain = pattern.sub(template, plain)
    candidates = (match.group().strip() for match in _SUM.finditer(plain))
    return [candidate for candidate in candidates if _is_expression(candidate)]


def find_numbers(text: str) -> list[float | int]:
    """Return the numbers in a text, in their order; parts of dates and names do not count."""
    plain = _THOUSANDS.sub("", _DATE.sub(" ", text))
    found = (match.group() for match in _NUMBER.finditer(plain))
    return [float(number) if "." in number else int(number) for number in found]


def find_quotations(text: str) -> list[str]:
    """Return what stands between quotation marks or backticks."""
    return ["".join(groups) for groups in _QUOTED.findall(text)]


def find_urls(text: str) -> list[str]:
    """Return the web addresses in a text."""
    return _URL.findall(text)


def find_emails(text: str) -> list[str]:
    """Return the mail addresses in a text."""
    return _EMAIL.findall(text)


def find_dates(text: str) -> list[str]:
    """Return the ISO dates in a text."""
    return _DATE.findall(text)


def result_value(output: str) -> str:
    """Return the gist of a tool's output: the one value of a JSON object, the number after an equals sign, or all of it."""
    try:
        decoded: object = json.loads(output)
    except (ValueError, RecursionError):
        return output.rpartition("=")[2].strip() or output
    if not is_object(decoded):
        return output.strip()
    named = [decoded[key] for key in ("result", "value", "answer", "output") if key in decoded]
    scalars = [
        value for value in (named or decoded.values()) if isinstance(value, str | int | float)
    ]
    return str(scalars[0]) if len(scalars) == 1 else output


def _is_expression(text: str) -> bool:
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.BinOp) for node in ast.walk(tree)) and not any(
        isinstance(node, ast.Call) for node in ast.walk(tree)
    )

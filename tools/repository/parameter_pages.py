"""Write what the plugin openai_gpt5_responses says of its parameters: in its README, in three languages, and in its manual.

`nox -s catalog` runs it. Names, order, defaults and texts are those of `parameter_rules.yaml`; the rest of the pages is written by hand.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


ROOT = Path(__file__).parents[2]
_PLUGIN = "plugins/openai_gpt5_responses"


@dataclass(frozen=True)
class _Page:
    """A page that lists the parameters.

    Attributes:
        texts: The name of its texts in the rules.
        line: The line of a parameter.
        default: How the default stands in it.
        words: The words for a switch that is off or on.
    """

    texts: str
    line: str
    default: str
    words: tuple[str, str]

    def write(self, rule: Mapping[str, Any]) -> str:
        """Return the line of a parameter."""
        match rule.get("default"):
            case None:
                default = ""
            case bool(is_on):
                default = self.default.format(self.words[is_on])
            case int(number):
                default = self.default.format(number)
            case word:
                default = self.default.format(f"`{word}`")
        return self.line.format(name=rule["name"], default=default, text=rule["pages"][self.texts])


_BULLET = "- `{name}`{default}：{text}\n"  # noqa: RUF001 - of Chinese and Japanese, as the brackets below
_PAGES = {
    "docs/plugins/openai-gpt5-responses.md": _Page(
        "manual", "| `{name}` |{default} | {text} |\n", " {}", ("false", "true")
    ),
    f"{_PLUGIN}/README.md": _Page("en_US", "- `{name}`{default}: {text}\n", " ({})", ("off", "on")),
    f"{_PLUGIN}/readme/README_ja_JP.md": _Page("ja_JP", _BULLET, "（{}）", ("オフ", "オン")),  # noqa: RUF001
    f"{_PLUGIN}/readme/README_zh_Hans.md": _Page("zh_Hans", _BULLET, "（{}）", ("关闭", "开启")),  # noqa: RUF001
}


def find_stale(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Iterate over the pages that list other parameters than the rules, each with what it should hold."""
    rules = yaml.safe_load((root / _PLUGIN / "parameter_rules.yaml").read_text(encoding="utf-8"))
    names = "|".join(rule["name"] for rule in rules)
    for name, page in _PAGES.items():
        path, mark = root / name, re.escape(page.line[:3])
        text, lines = path.read_text(encoding="utf-8"), "".join(map(page.write, rules))
        # The list begins where a parameter does, and ends where its lines do.
        [before, _, after] = re.split(
            rf"(?m)(^{mark}(?:{names})`.*\n(?:{mark}.*\n)*)", text, maxsplit=1
        )
        if text != before + lines + after:
            yield path, before + lines + after


if __name__ == "__main__":
    for stale, content in find_stale():
        stale.write_text(content, encoding="utf-8", newline="\n")
        print(stale.relative_to(ROOT))  # noqa: T201 - what it is for

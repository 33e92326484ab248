"""What a user reads of a plugin in Dify: its README in three languages.

All say the same, with the words of the form, and lead nowhere outside the package.
"""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from parameter_pages import find_stale
from tracked import ROOT


MODEL, STRATEGIES = (
    ROOT / "plugins" / name for name in ("openai_gpt5_responses", "gpt5_agent_strategies")
)
PAGES = {
    "en_US": "README.md",
    "ja_JP": "readme/README_ja_JP.md",
    "zh_Hans": "readme/README_zh_Hans.md",
}
PARAMETER_PAGES = [
    ROOT / "docs/plugins/openai-gpt5-responses.md",
    *(MODEL / page for page in PAGES.values()),
]
SECTIONS = ["Overview", "Setup", "Connection", "Usage", "Limits", "Privacy", "Support"]
MOST_WORDS = 500  # what reviewers of Dify's marketplace ask for

each_plugin = pytest.mark.parametrize("plugin", [MODEL, STRATEGIES], ids=lambda path: path.name)
each_language = pytest.mark.parametrize("language", PAGES)


def read(plugin: Path, language: str) -> str:
    return (plugin / PAGES[language]).read_text(encoding="utf-8")


def read_yaml(path: Path) -> dict[str, object]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def sections(text: str) -> list[tuple[str, str]]:
    """List the sections of a page: heading and what stands below it."""
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def outline(text: str) -> list[tuple[int, int]]:
    """Return for each section how many points and how many examples it has."""
    points = re.compile(r"^(?:- |\d\. )", re.MULTILINE)
    return [(len(points.findall(body)), body.count("```json")) for _, body in sections(text)]


def code(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))


def listed_fields(text: str) -> list[str]:
    """List what begins a point in bold, in the sections Connection and Usage."""
    bodies = [body for _, body in sections(text)][2:4]
    return re.findall(r"^- \*\*(.+?)\*\*", "".join(bodies), re.MULTILINE)


def labels(plugin: Path, language: str) -> list[str]:
    """List how the forms call the fields in a language, without what stands in brackets."""
    if plugin == MODEL:
        provider = read_yaml(plugin / "provider/openai_gpt5.yaml")
        fields = provider["provider_credential_schema"]["credential_form_schemas"]
    else:
        fields = read_yaml(plugin / "strategies/gpt5_function_calling.yaml")["parameters"]
    texts = [field["label"].get(language, field["label"]["en_US"]) for field in fields]
    return [re.split(r"\s*[(（]", text)[0] for text in texts]  # noqa: RUF001 - the bracket of Chinese and Japanese


@each_plugin
def test_the_english_page_has_the_sections_that_the_marketplace_looks_for(plugin: Path) -> None:
    assert [heading for heading, _ in sections(read(plugin, "en_US"))] == SECTIONS


@each_plugin
def test_the_english_page_is_short_and_english(plugin: Path) -> None:
    text = read(plugin, "en_US")

    assert len(text.split()) < MOST_WORDS
    assert re.findall(r"[\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]", text) == []


@each_plugin
@pytest.mark.parametrize("language", ["ja_JP", "zh_Hans"])
def test_a_translation_says_as_much_as_the_english_page(plugin: Path, language: str) -> None:
    english, translated = read(plugin, "en_US"), read(plugin, language)

    assert outline(translated) == outline(english)
    assert code(translated) == code(english)
    keys = r'^  "(\w+)":'
    assert re.findall(keys, translated, re.MULTILINE) == re.findall(keys, english, re.MULTILINE)


@each_plugin
@each_language
def test_a_page_calls_the_fields_as_the_form_does(plugin: Path, language: str) -> None:
    assert listed_fields(read(plugin, language)) == labels(plugin, language)


def test_the_pages_list_the_parameters_as_their_table_has_them() -> None:
    assert dict(find_stale()) == {}


def test_a_parameter_that_the_table_gets_is_listed_in_its_place_on_all_pages(
    tmp_path: Path,
) -> None:
    rules = MODEL.relative_to(ROOT) / "parameter_rules.yaml"
    for page in (rules, *(path.relative_to(ROOT) for path in PARAMETER_PAGES)):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    texts = dict.fromkeys(("manual", *PAGES), "New.")
    first = [{"name": name, "default": 3, "pages": texts} for name in ("first", "second")]
    table = (tmp_path / rules).read_text(encoding="utf-8")
    (tmp_path / rules).write_text(yaml.safe_dump(first) + table, encoding="utf-8")

    written = {path.relative_to(tmp_path): text for path, text in find_stale(tmp_path)}

    assert written.keys() == {path.relative_to(ROOT) for path in PARAMETER_PAGES}
    ways = ["| `{}` | 3 | New. |\n", "- `{}` (3): New.\n"] + ["- `{}`（3）：New.\n"] * 2  # noqa: RUF001 - as above
    for (page, text), way in zip(written.items(), ways, strict=True):
        old = (ROOT / page).read_text(encoding="utf-8")
        begun = text.index(way.format("first"))
        new = way.format("first") + way.format("second")
        assert text == old[:begun] + new + old[begun:]


@each_plugin
@each_language
def test_a_page_leads_nowhere_outside_the_package(plugin: Path, language: str) -> None:
    page = plugin / PAGES[language]
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        assert not target.startswith("http")
        assert (page.parent / target).resolve().is_relative_to(plugin)
        assert (page.parent / target).is_file()


@each_plugin
@each_language
def test_the_manual_that_a_page_names_is_there(plugin: Path, language: str) -> None:
    [manual] = [name for name in code(read(plugin, language)) if name.startswith("docs/")]

    assert (ROOT / manual).is_file()

"""What a user reads of a plugin in Dify: its README in three languages.

All say the same, with the words of the form, and lead nowhere outside the package.
"""

import re
from pathlib import Path

import pytest
import yaml
from tracked import ROOT


MODEL, STRATEGIES = (
    ROOT / "plugins" / name for name in ("openai_gpt5_responses", "gpt5_agent_strategies")
)
PAGES = {
    "en_US": "README.md",
    "ja_JP": "readme/README_ja_JP.md",
    "zh_Hans": "readme/README_zh_Hans.md",
}
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


@each_language
def test_a_page_explains_every_parameter_of_the_models(language: str) -> None:
    rules = read_yaml(MODEL / "parameter_rules.yaml")
    _, usage = sections(read(MODEL, language))[3]
    listed = re.findall(r"^- `(\w+)`(?: ?[(（]`?(\w+)`?[)）])?", usage, re.MULTILINE)  # noqa: RUF001 - as above
    switch = {"en_US": ("off", "on"), "ja_JP": ("オフ", "オン"), "zh_Hans": ("关闭", "开启")}

    assert listed == [
        (rule["name"], switch[language][default] if isinstance(default, bool) else str(default))
        for rule in rules
        for default in [rule.get("default", "")]
    ]


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

"""The pictures of runs that the README shows: drawn, small, and of the command that stands beside them."""

import html
import re
from pathlib import Path

import pytest
from tracked import ROOT


PICTURES = sorted((ROOT / "docs/pictures").glob("*.svg"))
README = (ROOT / "README.md").read_text(encoding="utf-8")

each_picture = pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)


def lines(picture: str) -> str:
    """Return what is to be read in a picture, without blanks."""
    return re.sub(r"\s", "", html.unescape("".join(re.findall(r"<text[^>]*>([^<]*)", picture))))


@each_picture
def test_a_picture_is_small_and_fetches_nothing(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")

    assert len(text) < 100_000
    assert "@font-face" not in text
    assert not re.search(r"(href|src|url\()=?[\"'(]?https?:", text)


@each_picture
def test_a_picture_shows_a_whole_run(picture: Path) -> None:
    read = lines(picture.read_text(encoding="utf-8"))

    assert "uvrundify-hostchat" in read
    assert "Round1" in read
    assert "USD" in read
    assert read.count("stopped:answered") == 1
    assert f"(docs/pictures/{picture.name})" in README


def test_the_first_picture_is_of_the_command_above_it() -> None:
    [question] = re.findall(r'uv run dify-host chat "(.*\?)"', README)
    read = lines((ROOT / "docs/pictures/run.svg").read_text(encoding="utf-8"))

    assert re.sub(r"\s", "", question) in read


def test_the_costs_were_compared_with_the_prices_of_the_lock() -> None:
    """Wherever the manual says with what and when."""
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    [version] = re.findall(r'name = "genai-prices"\nversion = "([^"]+)"', lock)
    manual = (ROOT / "docs/plugins/openai-gpt5-responses.md").read_text(encoding="utf-8")

    assert re.findall(r"genai-prices (\S+) on \d{4}-\d\d-\d\d", manual) == [version]


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs/pictures").glob("*.png")), ids=lambda path: path.stem
)
def test_a_picture_of_a_page_is_small_and_shown(picture: Path) -> None:
    others = (path.read_text(encoding="utf-8") for path in ROOT.glob("*/*/README.md"))
    pages = "".join([README, *others])

    assert picture.stat().st_size < 200_000
    assert f"docs/pictures/{picture.name})" in pages

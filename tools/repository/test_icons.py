"""The plugins' icons are seen on Dify's light and dark pages, at any size, and hold nothing that a page could not show."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from tracked import ROOT


LIGHT, DARK = "#ffffff", "#1d1d20"  # the pages of Dify
SHAPE = 3.0  # Source: https://www.w3.org/TR/WCAG22/#non-text-contrast
TEXT = 4.5  # Source: https://www.w3.org/TR/WCAG22/#contrast-minimum
ICONS = sorted(ROOT.glob("plugins/*/_assets/*.svg"))

each_icon = pytest.mark.parametrize("icon", ICONS, ids=lambda path: f"{path.parts[-3]}/{path.stem}")


def luminance(color: str) -> float:
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def elements(icon: Path) -> Iterator[ET.Element]:
    return ET.parse(icon).iter()


def colors(icon: Path, tag: str) -> set[str]:
    found = [
        element.get(key, "none")
        for element in elements(icon)
        if element.tag.endswith(f"}}{tag}")
        for key in ("fill", "stroke")
    ]
    return set(found) - {"none"}


def test_each_icon_has_a_light_and_a_dark_form() -> None:
    names = {path.parts[-3]: set() for path in ICONS}
    for path in ICONS:
        names[path.parts[-3]].add(path.stem)

    assert names == {
        "gpt5_agent_strategies": {"icon", "icon-dark"},
        "openai_gpt5_responses": {"icon", "icon-dark", "wordmark", "wordmark-dark"},
    }


@each_icon
def test_the_tile_stands_out_from_the_page(icon: Path) -> None:
    """Where a page takes no notice of the dark form, it shows the light one on dark, too."""
    [tile] = colors(icon, "rect")
    pages = [DARK] if icon.stem.endswith("-dark") else [LIGHT, DARK]

    assert all(contrast(tile, page) >= SHAPE for page in pages)


@each_icon
def test_what_is_drawn_stands_out_from_the_tile(icon: Path) -> None:
    [tile] = colors(icon, "rect")
    drawn = (colors(icon, "path") | colors(icon, "circle")) - {tile}

    assert drawn
    assert all(contrast(color, tile) >= SHAPE for color in drawn)


@each_icon
def test_a_word_stands_out_from_the_page(icon: Path) -> None:
    page = DARK if icon.stem.endswith("-dark") else LIGHT
    assert all(contrast(color, page) >= TEXT for color in colors(icon, "g"))


@each_icon
def test_an_icon_is_a_small_drawing_without_fonts_or_links(icon: Path) -> None:
    tags = {element.tag.partition("}")[2] for element in elements(icon)}

    assert tags <= {"svg", "rect", "path", "circle", "g"}
    assert not re.search(r"href|url\(|style", icon.read_text(encoding="utf-8"))
    assert icon.stat().st_size < 4_000

"""The tokens that images and files take of a model's input, before a server has counted them.

Models cover an image with patches of 32 pixels or with tiles of 512, and shrink it first; which of the two, and by how much, depends on the model.

Source: https://developers.openai.com/api/docs/guides/images-vision, as kept in the public repository
llms-txt-archive/openai-platform at 209a9589; the factors as that page has them in autumn 2026, which recorded usage
confirms (docs/token-counts.md). Models that it does not name (gpt-5.1, gpt-5.3, those after gpt-6-astra and the older
codex models) count like their neighbours, which is our choice, as is everything about files.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ._image_size import find_image_size
from ._model_profile import ModelProfile


_PATCH, _TILE = 32, 512
_LOW_SIDE = 512
_UNKNOWN_SIZE = (1024, 1024)  # of an image that only the server can fetch
# Guesses, meant for pages that are full of text. Source: docs/token-counts.md.
_PDF_PAGE_BYTES, _PDF_PAGE_TOKENS = 50_000, 1_500
_BYTES_PER_TOKEN = 4
_UNKNOWN_FILE_TOKENS = 3_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """The size to which an image is shrunk.

    Attributes:
        patches: The maximum number of patches.
        side: The maximum number of pixels of the longer side.
    """

    patches: float = math.inf
    side: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Patches:
    """Counting by patches; `original` is None if the model has no such detail, and `auto` names the detail that it chooses by itself."""

    high: _Limit
    original: _Limit | None = None
    auto: str = "high"
    factor: float = 1

    def tokens(self, width: int, height: int, detail: str) -> int:
        """Count the tokens of an image."""
        chosen = self.auto if detail == "auto" else detail
        low = _Limit(side=_LOW_SIDE)
        limits = {"low": low, "high": self.high, "original": self.original or self.high}
        return math.ceil(_patches(width, height, limits.get(chosen, self.high)) * self.factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tiles:
    """Counting by tiles: `base` for each image, and `tile` for each of its tiles, none at low detail."""

    base: int
    tile: int

    def tokens(self, width: int, height: int, detail: str) -> int:
        """Count the tokens of an image."""
        if detail == "low":
            return self.base
        # The image is shrunk into a square of 2048 pixels, and then to 768 on its shorter side.
        scale = min(1, 2048 / max(width, height))
        scale *= min(1, 768 / (min(width, height) * scale))
        tiles = math.ceil(width * scale / _TILE) * math.ceil(height * scale / _TILE)
        return self.base + tiles * self.tile


def _patches(width: int, height: int, limit: _Limit) -> int:
    scale = min(1.0, limit.side / max(width, height))
    if _covering(width, height) > limit.patches:
        # To the area of so many patches, and on to whole patches along one side: a part of a patch counts
        # as one. A side of less than one patch gives 0, and stays as it is.
        shrink = math.sqrt(_PATCH**2 * limit.patches / (width * height))
        across, down = width * shrink / _PATCH, height * shrink / _PATCH
        fitting = min(math.floor(across) / across, math.floor(down) / down) or 1
        scale = min(scale, shrink * fitting)
    covering = _covering(round(width * scale), round(height * scale))
    return int(min(covering, limit.patches))


def _covering(width: int, height: int) -> int:
    return math.ceil(max(width, 1) / _PATCH) * math.ceil(max(height, 1) / _PATCH)


_SMALL = _Limit(patches=1_536, side=2_048)
_LARGE = _Limit(patches=2_500, side=2_048)
_HUGE = _Limit(patches=10_000, side=6_000)
_NEWEST = _Patches(high=_LARGE, original=_Limit(), auto="original", factor=1.2)
_GPT5 = _Tiles(base=70, tile=140)
_GPT52 = _Patches(high=_SMALL, factor=1.2)
_GPT54 = _Patches(high=_LARGE, original=_HUGE, factor=1.2)
_WAYS: dict[str, _Patches | _Tiles] = {
    **dict.fromkeys(("gpt-5", "gpt-5-pro", "gpt-5-chat", "gpt-5-codex"), _GPT5),
    **dict.fromkeys(("gpt-5.1", "gpt-5.1-chat", "gpt-5.1-codex", "gpt-5.1-codex-max"), _GPT5),
    **dict.fromkeys(("gpt-5-mini", "gpt-5.4-mini", "gpt-5.4-nano"), _GPT52),
    "gpt-5-nano": _Patches(high=_SMALL, factor=1.5),
    **dict.fromkeys(("gpt-5.1-codex-mini", "gpt-5.2", "gpt-5.2-chat", "gpt-5.2-codex"), _GPT52),
    **dict.fromkeys(("gpt-5.2-pro", "gpt-5.3-chat", "gpt-5.3-codex"), _GPT52),
    **dict.fromkeys(("gpt-5.4", "gpt-5.4-pro"), _GPT54),
    **dict.fromkeys(("gpt-5.5", "gpt-5.5-pro"), replace(_GPT54, auto="original")),
    **dict.fromkeys(("gpt-4o", "chatgpt-4o", "gpt-4.1", "gpt-4-turbo"), _Tiles(base=85, tile=170)),
    **dict.fromkeys(("o1", "o3"), _Tiles(base=75, tile=150)),
    "o4": _Patches(high=_SMALL, factor=1.72),
}


def count_media_tokens(part: Mapping[str, Any], profile: ModelProfile) -> int:
    """Count the tokens of an `input_image` or `input_file`, from 0 up; any other part has none.

    An image that only the server can fetch counts as one of 1024 by 1024 pixels. The tokens of a file are a guess from its size.
    """
    match part:
        case {"type": "input_image"}:
            way = _WAYS.get(profile.family, _NEWEST)
            size = find_image_size(str(part.get("image_url"))) or _UNKNOWN_SIZE
            return way.tokens(*size, detail=part.get("detail") or "auto")
        case {"type": "input_file", "file_data": str(data)}:
            size_bytes = len(data) * 3 // 4  # of base64
            if data.startswith("data:application/pdf"):
                return (1 + size_bytes // _PDF_PAGE_BYTES) * _PDF_PAGE_TOKENS
            return size_bytes // _BYTES_PER_TOKEN
        case {"type": "input_file"}:
            return _UNKNOWN_FILE_TOKENS
        case _:
            return 0

"""The question whether calls may be made, and what counts as a yes, in English, Chinese and Japanese."""

import re
import unicodedata
from collections.abc import Iterable

from agent_loop import ToolCall


_MAX_CHARACTERS = 1_000
_MAX_CALLS = 20
_YES = frozenset(
    {"yes", "y", "approve", "approved", "是", "是的", "同意", "批准", "はい", "承認", "承認します"}
)
_NO = frozenset(
    {
        "no",
        "n",
        "deny",
        "denied",
        "否",
        "不",
        "不是",
        "不同意",
        "拒绝",
        "いいえ",
        "拒否",
        "拒否します",
    }
)
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u4e00-\u9fff]")
_TEXTS = {
    "en": (
        "Approval needed for these calls:",
        "Answer yes to make them. Any other answer denies them, and the model reads it.",
        "Code: ",
    ),
    "zh": (
        "以下调用需要您批准：",  # noqa: RUF001 - Chinese
        "回答“是”即执行；其他任何回答都视为拒绝，并转告模型。",  # noqa: RUF001 - Chinese
        "编号：",  # noqa: RUF001 - Chinese
    ),
    "ja": (
        "次の呼び出しには承認が必要です：",  # noqa: RUF001 - Japanese
        "「はい」と答えると実行します。それ以外の回答は拒否とみなし、モデルに伝えます。",
        "コード：",  # noqa: RUF001 - Japanese
    ),
}


def is_yes(text: str) -> bool:
    """Return whether a text is nothing but a yes: one of few words, whatever its case, with a full stop or an exclamation mark at most."""
    return _normal(text) in _YES


def is_no(text: str) -> bool:
    """Return whether a text is nothing but a no, so that there is no reason in it."""
    return _normal(text) in _NO


def build_question(calls: Iterable[ToolCall], *, code: str, query: str) -> str:
    """Return the question, in the language that the person has written in last.

    Args:
        calls: The calls, as they would be made.
        code: What tells the question from others.
        query: What the person has written.
    """
    asked = list(calls)
    intro, how, named = _TEXTS[
        "ja" if _KANA.search(query) else "zh" if _HAN.search(query) else "en"
    ]
    lines = [f"- {call.name}: {_shorten(call.arguments)}" for call in asked[:_MAX_CALLS]]
    more = [f"- (+ {len(asked) - _MAX_CALLS})"] if len(asked) > _MAX_CALLS else []
    return "\n".join([intro, *lines, *more, how, f"{named}{code}"])


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().rstrip(".!。").strip().casefold()


def _shorten(arguments: str) -> str:
    line = " ".join(arguments.split()).replace("<", "\u2039")  # No tag that would swallow the rest.
    return line if len(line) <= _MAX_CHARACTERS else f"{line[:_MAX_CHARACTERS]} [...]"

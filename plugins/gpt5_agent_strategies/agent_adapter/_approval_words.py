"""The question for approval, the sentences around it, and what counts as a yes, in English, Chinese and Japanese."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from agent_loop import ToolCall
from stream_text import is_hidden


_FENCE = "~~~"  # Dify's page looks for code between ``` itself, and would pair a model's with ours.
# Plain characters that a page changes even within code: in tags, formulas, incomplete images, and the
# marks that Dify's page replaces.
_CHANGED = re.compile(
    r"<|(?<=``)`|(?<=!)\[|(?<=\\)[\[\]()]|(?<=CODE)_(?=BLOCK_PLACEHOLDER)|_(?=TMP_REPLACE_DOLLAR_)"
)
_YES_IN_ENGLISH = ("yes", "y", "approve", "approved")
_YES = (*_YES_IN_ENGLISH, "是", "是的", "同意", "批准", "はい", "承認", "承認します")
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
CODE_LETTERS = 8
"""The length of a code, in hexadecimal digits."""

_CODE = re.compile(f"[0-9a-f]{{{CODE_LETTERS}}}$")
_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u4e00-\u9fff]")
_MAX_REPLY = 100
# Characters that may surround a word and a code, including the quotes of the question; NFKC turns
# full-width ones into these.
_AROUND = " \t\r\n.,:!\u3001\u3002\"'\u201c\u201d\u300c\u300d"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """The texts in one language.

    Attributes:
        intro: Comes before the calls.
        how: How to answer. Where it is in English, for all whose language is not among these, it names all `words` that count.
        named: Comes before the code.
        needs_code: Why a yes without the code does not count.
        changed: Says that a tool was changed after the question.
        outdated: Says that the question was asked before an update.
    """

    intro: str
    how: str
    named: str
    needs_code: str
    changed: str
    outdated: str


_EN = _Texts(
    intro="Approval needed for these calls:",
    how='Answer yes (or "yes {code}") to make them. The words that count are {words}. Any other answer denies them, and the model reads it. Only the user who asked can answer.',
    named="Code: ",
    needs_code='Nothing is decided yet: the conversation is not remembered here, so please answer with the code: "yes {code}".',
    changed="Not called, because it was changed after you were asked (its provider, credentials or settings): {name}",
    outdated="The approval you were asked for was saved before this plugin was updated, so your answer cannot be applied and nothing was called. Please make your request again.",
)
_ZH = _Texts(
    intro="以下调用需要您批准：",  # noqa: RUF001 - Chinese
    how="回答“是” (或“是 {code}”) 即执行；其他任何回答都视为拒绝，并转告模型。只有提出请求的用户本人可以回答。",  # noqa: RUF001 - Chinese
    named="编号：",  # noqa: RUF001 - Chinese
    needs_code="尚未决定：此处不保留对话记忆，请连同编号回答：“是 {code}”。",  # noqa: RUF001 - Chinese
    changed="该工具在询问您之后已被更改（提供者、凭据或设置），因此未调用：{name}",  # noqa: RUF001 - Chinese
    outdated="此前的批准请求是在插件更新之前保存的，无法再处理您的回答，也没有执行任何调用。请重新提出请求。",  # noqa: RUF001 - Chinese
)
_JA = _Texts(
    intro="次の呼び出しには承認が必要です：",  # noqa: RUF001 - Japanese
    how="「はい」 (または「はい {code}」) と答えると実行します。それ以外の回答は拒否とみなし、モデルに伝えます。答えられるのは、依頼したユーザー本人だけです。",
    named="コード：",  # noqa: RUF001 - Japanese
    needs_code="まだ何も決まっていません。ここでは会話が記憶されないため、コードを添えて「はい {code}」と答えてください。",
    changed="確認の後に変更されたため（プロバイダー、認証情報または設定）、呼び出しませんでした：{name}",  # noqa: RUF001 - Japanese
    outdated="承認の確認はプラグインの更新前に保存されたため、ご回答を反映できず、何も呼び出していません。もう一度ご依頼ください。",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A person's reply to a question.

    Attributes:
        text: The reply as it was written.
        word: `yes` or `no` if it says nothing else, except perhaps a code; otherwise None.
        code: The code after that word, or nothing.
    """

    text: str
    word: Literal["yes", "no"] | None
    code: str


def read_reply(text: str) -> Reply:
    """Read a person's reply: one of a few words in any case and width, perhaps with a code after it, and at most a full stop or the like."""
    said = text.strip()
    if len(said) > _MAX_REPLY:
        return Reply(text=said, word=None, code="")
    normal = unicodedata.normalize("NFKC", said).strip(_AROUND).casefold()
    code = found[0] if (found := _CODE.search(normal)) else ""
    word = normal.removesuffix(code).rstrip(_AROUND)
    return Reply(
        text=said, word="yes" if word in _YES else "no" if word in _NO else None, code=code
    )


def build_question(
    calls: Iterable[ToolCall], *, names: Mapping[str, str], code: str, query: str
) -> str:
    """Return the question, in the language in which the person has written last.

    Its explanation of how to answer has brackets, and it ends with a quotation: Dify's page repairs text that has only
    partly arrived, and drops everything after the beginning of a picture or a tag unless a `)` or `>` follows.

    Args:
        calls: The calls, as they would be made.
        names: The tools' names in Dify, by the names by which the model calls them.
        code: The code that distinguishes the question from others.
        query: The person's message.
    """
    texts = _find_texts(query)
    words = _YES_IN_ENGLISH if query.isascii() else _YES
    how = texts.how.format(code=code, words=f"{', '.join(words[:-1])} and {words[-1]}")
    return "\n\n".join([texts.intro, render_calls(calls, names), how, f"> {texts.named}{code}"])


def ask_for_code(question: str, *, code: str, query: str) -> str:
    """Return a question again, for somebody who has said yes without the required code."""
    return f"{_find_texts(query).needs_code.format(code=code)}\n\n{question}"


def describe_changed(names: Iterable[str], *, query: str) -> str:
    """Return the sentence for a person about tools that were changed after they were asked."""
    shown = (show_text(name).replace("[", r"\u005b") for name in names)  # Here a link would be one.
    return _find_texts(query).changed.format(name=", ".join(shown))


def describe_outdated(*, query: str) -> str:
    """Return the sentence for a person whose answer is to a question from before an update."""
    return f"{_find_texts(query).outdated}\n\n"


def _find_texts(query: str) -> _Texts:
    """Return the texts in the language of the person's message."""
    return _JA if _KANA.search(query) else _ZH if _HAN.search(query) else _EN


def render_calls(calls: Iterable[ToolCall], names: Mapping[str, str]) -> str:
    """Return calls as Markdown code, one per line.

    Args:
        calls: The calls, whose arguments are JSON in one line.
        names: What Dify shows of the tools, by the names that the model calls them by.
    """
    lines = [
        f"- {show_text(names.get(call.name, call.name))}: {show_text(call.arguments)}"
        for call in calls
    ]
    return "\n".join([_FENCE, *lines, _FENCE])


def show_text(text: str) -> str:
    r"""Return a line of text in which characters that could not be seen, or would be misread, are written `\uXXXX`, which means the same in JSON."""
    return _CHANGED.sub(_escape, "".join(_escape(one) if is_hidden(one) else one for one in text))


def _escape(found: str | re.Match[str]) -> str:
    character = found if isinstance(found, str) else found[0]
    escaped = json.dumps(character)[1:-1]
    return escaped if escaped.startswith("\\u") else f"\\u{ord(character):04x}"

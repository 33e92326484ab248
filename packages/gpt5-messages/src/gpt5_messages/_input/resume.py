"""Tokens with which a later turn of a conversation finds an answer that is still being made.

A token stands in the text of an answer, because histories of platforms carry nothing else: the response's id, how much
of it was shown, and a code that binds both to a secret and to the conversation. Somebody who has the token but neither
of these learns nothing from it except the id.

Some platforms change a conversation from one turn to the next: instructions are filled in anew, tool calls are left out, the oldest turns drop out
of the window. So a token is bound only to the question and to the texts of users and answers in the few messages before it.
"""

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpt5_messages._completion.marked_text import said_text

from .histories import Entry, iter_entries
from .parts import read_text
from .turns import History


_MOST_BEFORE = 6  # messages before the question that bind a token: three turns
_CODE_BYTES = 16
_SALT = b"gpt5-messages resume token 1"
# A secret may be a short word: so each guess at it takes some 50 ms and 16 MiB.
_SCRYPT = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}
_ID = r"[A-Za-z0-9_~=:+-][A-Za-z0-9_.~=:+-]{0,255}"
_TOKEN = re.compile(
    rf"resume:({_ID})/([0-9]{{1,9}})/([A-Za-z0-9_-]{{22}})(?![A-Za-z0-9_-])", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """The point at which an answer goes on.

    Attributes:
        response_id: The server's id of the response.
        shown_characters: How many characters of its visible text were shown before, from 0.
    """

    response_id: str
    shown_characters: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundToken:
    """A token in the last answer of a conversation, which the user has answered.

    Attributes:
        text: The token.
        binding: A digest of the part of the conversation that a token is bound to.
    """

    text: str
    binding: bytes


class ResumeTokens:
    """The tokens of one secret, which only it can write and read.

    Args:
        secret: A text that nobody else knows, with everything that has to be the same when a token is read: the caller, the server, and the key.

    Example:
        >>> from gpt5_messages import ResumePoint, ResumeTokens, find_resume_token
        >>> tokens = ResumeTokens("sk-... of Ann")
        >>> asked = [{"role": "user", "content": "Prove it."}]
        >>> token = tokens.write(ResumePoint(response_id="resp_1", shown_characters=9), asked)
        >>> later = [
        ...     *asked,
        ...     {"role": "assistant", "content": f"To prove {token}"},
        ...     {"role": "user", "content": "Go on."},
        ... ]
        >>> tokens.read(find_resume_token(later))
        ResumePoint(response_id='resp_1', shown_characters=9)
        >>> ResumeTokens("sk-... of Bob").read(find_resume_token(later)) is None
        True
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret

    @cached_property
    def _key(self) -> bytes:
        return hashlib.scrypt(self._secret.encode(errors="surrogatepass"), salt=_SALT, **_SCRYPT)

    def write(self, point: ResumePoint, messages: Iterable[object] = ()) -> str:
        """Return the token for a point of an answer to a conversation.

        Raises:
            MessageError: If a message cannot be read.
            ValueError: If the response's id is not valid, or the number is not within 0 and 999,999,999.
        """
        token = self._token(point, _binding(list(iter_entries(messages))))
        if not _TOKEN.fullmatch(token):
            raise ValueError(
                f"expected a response id and a number from 0 to 999999999, got {point}"
            )
        return token

    def read(self, found: FoundToken | str) -> ResumePoint | None:
        """Return the point at which an answer goes on; None for a token of another secret or another conversation, or for any other text.

        Args:
            found: The token; a bare text is a token that was written for no messages.
        """
        text, binding = (
            (found, _binding([])) if isinstance(found, str) else (found.text, found.binding)
        )
        match = _TOKEN.fullmatch(text)
        if match is None:
            return None
        point = ResumePoint(response_id=match[1], shown_characters=int(match[2]))
        # In a time that does not tell how much of the code was right.
        is_ours = hmac.compare_digest(self._token(point, binding).encode(), text.encode())
        return point if is_ours else None

    def _token(self, point: ResumePoint, binding: bytes) -> str:
        head = f"resume:{point.response_id}/{point.shown_characters}/"
        code = hmac.digest(self._key, head.encode(errors="surrogatepass") + binding, "sha256")
        return head + urlsafe_b64encode(code[:_CODE_BYTES]).rstrip(b"=").decode()


def find_resume_token(messages: Iterable[object]) -> FoundToken | None:
    """Return the token in a conversation's last answer, if only users have spoken since.

    Raises:
        MessageError: If a message after the last answer cannot be read, or any message if that answer has a token.
    """
    held = list(messages)
    tokens = [match[0] for match in _TOKEN.finditer(_last_answer(held))]
    if not tokens:
        return None
    entries = list(iter_entries(held))
    answers = (index for index, entry in enumerate(entries) if not _is_said_by("user", entry))
    return FoundToken(text=tokens[-1], binding=_binding(entries[: max(answers)]))


def _last_answer(messages: Sequence[object]) -> str:
    """Return the last answer if only users have spoken after it, or an empty text; read from the end, since hardly any answer has a token."""
    has_reply = False
    for index in reversed(range(len(messages))):
        for entry in reversed(list(iter_entries([messages[index]]))):
            if not _is_said_by("user", entry):
                is_answer = has_reply and _is_said_by("assistant", entry)
                return read_text(entry.content, field=entry.field) if is_answer else ""
            has_reply = True
    return ""


def _binding(entries: Sequence[Entry]) -> bytes:
    """Return a digest of the last question and of the texts before it."""
    questions = [index for index, entry in enumerate(entries) if _is_said_by("user", entry)]
    end = questions[-1] + 1 if questions else 0
    said = [entry for entry in entries[:end] if _said(entry)]
    return History(
        {"role": entry.role, "content": _said(entry)} for entry in said[-_MOST_BEFORE - 1 :]
    ).digest


def _said(entry: Entry) -> str:
    """Return the text of a user's message or an answer; an empty text for any other entry."""
    if not (_is_said_by("user", entry) or _is_said_by("assistant", entry)):
        return ""
    return said_text(read_text(entry.content, field=entry.field)).strip()


def _is_said_by(role: str, entry: Entry) -> bool:
    return entry.item is None and entry.role == role and not entry.whole_calls

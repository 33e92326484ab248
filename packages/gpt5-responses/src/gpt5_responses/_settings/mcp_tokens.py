"""The tokens of MCP servers by server label: validated, refused by name, and never shown.

A label is not a secret, but the text in its place may be a misplaced token, so it is not shown either; nor is a host.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from gpt5_payloads import is_token_host
from gpt5_responses._errors import SettingsError
from stream_text import is_object, iter_header_secrets

from .header_settings import Members, SecretTexts, read_members


type Token = str | SecretTexts[str]

_FIELD = "mcp_tokens"
_EXAMPLE = '{"github": {"token": "...", "host": "api.githubcopilot.com"}}'
_WHAT = "server labels and tokens"
_MOST_TOKENS = 100  # far beyond what one request can use
_MOST_CHARACTERS = 65_536  # of all labels, tokens and hosts


def read_mcp_tokens(value: object) -> SecretTexts[Token]:
    """Return a setting's tokens, with white space around labels, tokens and hosts removed.

    Args:
        value: JSON text or a mapping, of `{"token": ..., "host": ...}` or texts by label; None, an empty mapping or a blank text for no tokens.

    Raises:
        SettingsError: If it is neither; if there are more than 100, or they are longer than 65,536 characters together; if a label occurs twice or
            is blank, a token is blank, not a text or has several lines, or a host is not valid.
    """
    given = read_members(value, _FIELD, what=_WHAT, example=_EXAMPLE)
    if len(given) > _MOST_TOKENS:
        raise _refused(f"must hold at most {_MOST_TOKENS} tokens, got {len(given)}")
    tokens: dict[str, Token] = {}
    for number, (key, token) in enumerate(given, 1):
        label = key.strip() if isinstance(key, str) else ""
        if not label:
            raise _refused(f"has no label for its token {number}")
        if label in tokens:
            raise _refused(f"has two tokens for one label (token {number})")
        tokens[label] = _read_token(token, number)
    texts = [label + "".join(list_texts(token)) for label, token in tokens.items()]
    if sum(map(len, texts)) > _MOST_CHARACTERS:
        raise _refused(f"must hold at most {_MOST_CHARACTERS} characters")
    return SecretTexts(tokens)


def _read_token(value: object, number: int) -> Token:
    pairs = _pairs(value)
    names = sorted(str(name) for name, _ in pairs)
    texts = {str(name): text.strip() for name, text in pairs if isinstance(text, str)}
    if names not in (["token"], ["host", "token"]) or not _is_line(texts.get("token", "")):
        reason = f"must hold a token and its host, or a text of one line, under each label; token {number} is neither"
        raise _refused(reason)
    if isinstance(value, str):
        return texts["token"]
    if not is_token_host(texts.get("host", "")):
        reason = f"must name a host in ASCII, without https:// and path, for token {number}"
        raise _refused(reason)
    return SecretTexts(texts)


def _pairs(value: object) -> Sequence[tuple[object, object]]:
    """Return a label's members, duplicates included; a text alone counts as a token."""
    if is_object(value):
        return list(value.items())
    return value if isinstance(value, Members) else [("token", value)]


def _is_line(text: str) -> bool:
    return bool(text) and text.isprintable()


def list_texts(token: str | Mapping[str, str]) -> list[str]:
    """Return the texts of a token that has been read: its host, if it has one, and the token."""
    return [token] if isinstance(token, str) else [token["host"], token["token"]]


def iter_token_secrets(value: object) -> Iterator[str]:
    """Yield the secrets in a setting with tokens, valid or not: its JSON, and each text in it except hosts."""
    yield from iter_header_secrets(value)
    with suppress(SettingsError):
        for _, token in read_members(value, "", what=_WHAT, example=_EXAMPLE):
            texts = (text for name, text in _pairs(token) if name != "host")
            yield from iter_header_secrets(dict(enumerate(texts)))


def _refused(reason: str) -> SettingsError:
    return SettingsError(f"{_FIELD} {reason}. It looks as in {_EXAMPLE}.", field=_FIELD)

"""The tokens of MCP servers by the servers' labels: made usable or refused by name, and never shown.

A label is no secret, but text in its position may be a token in the wrong one, and is not shown either.
"""

from ._errors import SettingsError
from ._secret_texts import SecretTexts, read_members


_EXAMPLE = '{"github": "..."}'
_MOST_TOKENS = 100  # far beyond what one request can use
_MOST_CHARACTERS = 65_536  # of all labels and tokens


def read_mcp_tokens(value: object, field: str) -> SecretTexts:
    """Return the tokens that a setting holds, without white space around labels and tokens.

    Args:
        value: JSON text or a mapping; None, an empty one or a blank text for no tokens.
        field: The setting's name, for errors.

    Raises:
        SettingsError: If it is neither; if there are more than 100, or they are longer than 65,536 characters together; if a label stands twice or
            is blank, or a token is blank, no text or of several lines.
    """
    given = read_members(value, field, what="server labels and tokens", example=_EXAMPLE)
    if len(given) > _MOST_TOKENS:
        raise _refused(field, f"must hold at most {_MOST_TOKENS} tokens, got {len(given)}")
    tokens: dict[str, str] = {}
    for number, (key, token) in enumerate(given, 1):
        label = key.strip() if isinstance(key, str) else ""
        if not label:
            raise _refused(field, f"has no label for its token {number}")
        if label in tokens:
            raise _refused(field, f"has two tokens for one label (token {number})")
        if not isinstance(token, str) or not token.strip().isprintable() or not token.strip():
            raise _refused(field, f"must hold texts of one line for tokens; token {number} is none")
        tokens[label] = token.strip()
    if sum(len(label) + len(token) for label, token in tokens.items()) > _MOST_CHARACTERS:
        raise _refused(field, f"must hold at most {_MOST_CHARACTERS} characters")
    return SecretTexts(tokens)


def _refused(field: str, reason: str) -> SettingsError:
    return SettingsError(f"{field} {reason}. It looks as in {_EXAMPLE}.", field=field)

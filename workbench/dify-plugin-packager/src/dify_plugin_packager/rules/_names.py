"""The rules for the name of a plugin and its author: the daemon's, and the marketplace's.

Source: `pkg/entities/plugin_entities/identity.go` of langgenius/dify-plugin-daemon at bdb5642a and `toolkit/checks/manifest.py` of
langgenius/dify-marketplace-toolkit at 04f98f82, read 2026-11.
"""

import re


_AUTHOR = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)
_NAME = re.compile(r"[a-z0-9_-]{1,128}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}", re.ASCII)
_THEIRS = ("dify", "langgenius")


def find_name_problem(name: str) -> str | None:
    """Return why the daemon refuses a plugin's name; None if it takes it."""
    if _NAME.fullmatch(name):
        return None
    return f"expected up to 128 of a-z, 0-9, '_' and '-', got {name!r:.80}"


def find_author_problem(author: str) -> str | None:
    """Return why the daemon refuses an author; None if it takes it."""
    if not _AUTHOR.fullmatch(author):
        return f"expected up to 64 of a-z, 0-9, '_' and '-', got {author!r:.80}"
    if _UUID.fullmatch(author):
        return f"expected a name, not a UUID, got {author!r}"
    return None


def find_marketplace_author_problem(author: str) -> str | None:
    """Return why the marketplace refuses an author; None if it takes it."""
    for word in _THEIRS:
        if word in author:
            return f"expected a user or organisation without {word!r} in the name, got {author!r}"
    return None

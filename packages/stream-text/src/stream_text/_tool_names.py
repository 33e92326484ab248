"""Names by which a model calls tools: valid for every API, and unique."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Final


MAX_TOOL_NAME: Final = 64
"""How many characters a tool's name may have."""

_INVALID: Final = re.compile(r"[^a-zA-Z0-9_-]")


def valid_tool_names(tools: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return a distinct name for each tool, in their order.

    A name has 1 to 64 characters of `a-zA-Z0-9_-`. A tool keeps its own name if that is valid and no other tool has it.
    Tools that share a name get their provider's name in front; a name that still clashes, is too long or has other
    characters ends in a digest of provider and name. So a tool's name does not depend on the order of the list; only
    the very same tool, listed twice, is numbered.

    Args:
        tools: The provider and the name of each, which is not empty.

    Source: docs/evidence/responses-api.md, R14; the limit of 64 characters, which other providers
    have, is our choice.

    Example:
        >>> valid_tool_names([("web", "search"), ("web", "find it")])
        ('search', 'find_it_d4212bcc')
    """
    # Providers and digests are added only if names clash, so that most tools keep the names that
    # prompts mention.
    identities = list(tools)
    own = Counter(name for _, name in identities)
    wanted = [
        _valid_name(identity, name if own[name] == 1 else f"{_short(provider)}_{name}")
        for identity in identities
        for provider, name in [identity]
    ]
    taken = Counter(wanted)
    distinct = [
        name if taken[name] == 1 else _with_digest(name, identity)
        for name, identity in zip(wanted, identities, strict=True)
    ]
    return _numbered(distinct)


def _short(provider: str) -> str:
    """Return the last part of a provider such as `author/plugin/provider`."""
    return provider.rsplit("/", maxsplit=1)[-1]


def _valid_name(identity: tuple[str, str], name: str) -> str:
    """Return `name` if it is valid, otherwise the nearest valid name with a digest."""
    valid = _INVALID.sub("_", name)
    return name if valid == name and len(name) <= MAX_TOOL_NAME else _with_digest(valid, identity)


def _with_digest(name: str, identity: tuple[str, str]) -> str:
    """Return `name` with a digest at its end that distinguishes its tool from all others."""
    digest = hashlib.sha256("\n".join(identity).encode(errors="surrogatepass")).hexdigest()[:8]
    # Leaves room for the underscore and eight digits.
    return f"{name[: MAX_TOOL_NAME - 9]}_{digest}"


def _numbered(names: list[str]) -> tuple[str, ...]:
    """Number the second and further uses of a name."""
    numbered: dict[str, None] = {}
    last = Counter[str]()
    for name in names:
        candidate = name
        while candidate in numbered:
            last[name] += 1
            suffix = f"_{last[name] + 1}"
            candidate = f"{name[: MAX_TOOL_NAME - len(suffix)]}{suffix}"
        numbered[candidate] = None
    return tuple(numbered)

"""The rules of Dify's marketplace for a package's files."""

from ._marketplace_rules import iter_marketplace_rules


__all__ = [
    "iter_marketplace_rules",
]

"""Rules for the manifest and the declarations that it leads to: the daemon's, Dify's, and what we advise."""

from ._declaration_rules import Declarations
from ._upload import Upload


__all__ = [
    "Declarations",
    "Upload",
]

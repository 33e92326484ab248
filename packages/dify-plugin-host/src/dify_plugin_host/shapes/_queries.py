"""What the daemon's management API decodes the queries of its URLs into.

Source: `internal/server/controllers` of langgenius/dify-plugin-daemon at bdb5642a, and `binding` of github.com/gin-gonic/gin, read
2026-11.
"""

import re
from collections.abc import Mapping
from typing import Any

from ._fields import field, struct
from ._rules import validate
from ._types import TEXT, WHOLE, Struct


_WHOLE = re.compile(r"[+-]?[0-9]+")

PAGE = struct(
    "",
    field("Page", WHOLE, "required,min=1"),
    field("PageSize", WHOLE, "required,min=1,max=256"),
)
"""The query for a page of a list."""

README = struct(
    "",
    field("PluginUniqueIdentifier", TEXT, "required,plugin_unique_identifier"),
    field("Language", TEXT, "omitempty"),
)
"""The query for a plugin's README."""

PROVIDER = struct("", field("PluginID", TEXT, "required"), field("Provider", TEXT, "required"))
"""The query for one provider of a plugin."""


def read_query(shape: Struct, query: Mapping[str, str]) -> dict[str, Any]:
    """Return the query of a URL as the daemon reads it: nothing after what is no number where one belongs.

    Raises:
        ShapeError: If it breaks a rule of its fields; the text is the daemon's.
    """
    found = shape.zero()
    for each in shape.fields:
        given = query.get(each.json, "")
        if each.type is TEXT:
            found[each.json] = given
        elif given:
            if not _WHOLE.fullmatch(given):
                break
            found[each.json] = int(given)
    validate(shape, found)
    return found

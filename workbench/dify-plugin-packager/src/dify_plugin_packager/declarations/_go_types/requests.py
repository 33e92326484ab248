"""The types of requests to the daemon: bodies of the dispatch API, queries of the management API.

Source: `pkg/entities/plugin_entities/request.go` and `internal/server/controllers` of langgenius/dify-plugin-daemon at bdb5642a, and
`binding` of github.com/gin-gonic/gin, read 2026-11.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from .daemon_types import TYPES
from .rules import validate
from .types import TEXT, Field, ListOf, Struct, decode_what_fits


_MODULE = "github.com/langgenius/dify-plugin-daemon/pkg/entities/"
_WHOLE = re.compile(r"[+-]?[0-9]+")


def _body(data: Struct) -> Struct:
    """Return a body with this data; Go puts a type parameter into the struct's name."""
    body = TYPES["plugin_entities.InvokePluginRequest"]
    fields = (*body.fields, Field(go="Data", json="data", type=data, rules=("required",)))
    return replace(body, name=f"{body.name}[{_MODULE}{data.go}]", fields=fields)


REQUESTS: Mapping[str, Struct] = {
    name.removeprefix("requests."): _body(TYPES[name]) for name in TYPES.names("requests.Request")
}
"""The bodies of requests, by Go's name for the type of their `data`."""


def read_request(shape: Struct, body: Any, *, tenant_id: str = "local") -> dict[str, Any]:
    """Return the body of a request as the daemon reads it; values that do not fit are left empty.

    Raises:
        ShapeError: If it breaks a rule of its fields; the text is the daemon's.
    """
    value: dict[str, Any] = {**decode_what_fits(shape, body), "tenant_id": tenant_id}
    validate(shape, value)
    return shape.encode(value)


def read_query(shape: Struct, query: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """Return the query of a URL, each name with its value or all its values, as the daemon reads it; it stops reading at an invalid number.

    Raises:
        ShapeError: If it breaks a rule of its fields; the text is the daemon's.
    """
    found = shape.zero()
    for each in shape.fields:
        values = query.get(each.json)
        given = values if isinstance(values, str) else values[0] if values else ""
        if each.type is TEXT:
            found[each.json] = given
        elif isinstance(each.type, ListOf):
            found[each.json] = [given] if isinstance(values, str) else values
        elif given:
            # As gin does it: what was read before the error stays.
            if not _WHOLE.fullmatch(given):
                break
            found[each.json] = int(given)
    validate(shape, found)
    return found

"""JSON for Dify's API, which refuses a text with half of a surrogate pair, however it is escaped."""

import json
from typing import Any, override

from agent_server.http import Answer as Base


class Answer(Base):
    """An answer in JSON."""

    media_type = "application/json"

    @override
    def render(self, content: Any) -> bytes:
        """Return a value as `dump_json` does."""
        return dump_json(content)


def dump_json(value: object) -> bytes:
    """Return a value as JSON in UTF-8. Halves of surrogate pairs, which a cut text may have, are replaced by `?`."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")

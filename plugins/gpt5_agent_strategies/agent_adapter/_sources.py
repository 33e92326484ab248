"""The sources of the answer, from the `context` parameter in any shape."""

import json
from collections.abc import Mapping
from typing import Any

from dify_plugin.entities.invoke_message import InvokeMessage
from pydantic import ValidationError

from stream_text import is_list, is_object, parse_json


Resource = InvokeMessage.RetrieverResourceMessage.RetrieverResource

# The names of fields in Dify's retrieval nodes that differ from those of a resource.
_METADATA_NAMES = {
    "data_source_type": "document_data_source_type",
    "hit_count": "segment_hit_count",
    "word_count": "segment_word_count",
    "index_node_hash": "segment_index_node_hash",
}


def build_resources(context: object) -> list[Resource]:
    """Return a resource for each piece of the context that can be cited.

    A piece may be a result of a retrieval node (`title`, `content`, `metadata`), any other object, or text. JSON text is decoded
    first. A field that a resource cannot take is left out.
    """
    resources = [_to_resource(piece) for piece in _to_pieces(context)]
    return [resource for resource in resources if resource is not None]


def _to_pieces(context: object) -> list[Any]:
    if isinstance(context, str):
        return _to_text_pieces(context)
    if is_list(context):
        return list(context)
    return [] if context is None else [context]


def _to_text_pieces(text: str) -> list[Any]:
    try:
        value: object = parse_json(text)
        # JSON can express an unpaired surrogate, but no message can carry it.
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        value = text
    return _to_pieces(value) if isinstance(value, list | dict) else [text]


def _to_resource(piece: object) -> Resource | None:
    if is_object(piece):
        return _to_cited(piece)
    content = "" if piece is None else str(piece)
    return Resource(content=content) if content.strip() else None


def _to_cited(piece: Mapping[str, Any]) -> Resource | None:
    metadata = piece.get("metadata")
    facts = metadata if is_object(metadata) else piece
    fields = {
        name: facts.get(_METADATA_NAMES.get(name, name), facts.get(name))
        for name in Resource.model_fields
    }
    fields["content"] = _read_content(piece)
    fields["document_name"] = fields["document_name"] or piece.get("title")
    known = {name: value for name, value in fields.items() if value is not None}
    return _build_tolerantly(known) if known else None


def _read_content(piece: Mapping[str, Any]) -> str | None:
    """Return the text of a piece; an object without one is cited as JSON."""
    for name in ("content", "text"):
        if isinstance(piece.get(name), str):
            return piece[name]
    return json.dumps(dict(piece), ensure_ascii=False, default=str) if piece else None


def _build_tolerantly(fields: dict[str, Any]) -> Resource:
    try:
        return Resource.model_validate(fields)
    except ValidationError as error:
        wrong = {str(detail["loc"][0]) for detail in error.errors()}
        return Resource.model_validate(
            {name: value for name, value in fields.items() if name not in wrong}
        )

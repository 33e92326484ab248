"""Pydantic's writer of JSON schemas. Imported with the first type that is read, for it imports pydantic."""

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind


class SchemaWriter(GenerateJsonSchema):
    """Pydantic's schema writer without its warnings about defaults and union members that JSON cannot express."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Emit nothing."""

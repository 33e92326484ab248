"""JSON schemas: references, regular expressions and validation."""

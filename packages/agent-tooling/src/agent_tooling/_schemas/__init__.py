"""JSON schemas: what they refer to, their regular expressions, and what fulfils them."""

"""Typed outputs, one per line that a script prints."""

"""Typed outputs, one for each line that a script prints."""

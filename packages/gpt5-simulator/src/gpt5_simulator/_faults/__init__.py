"""Faults: as values and as text, whose turn it is, and what they do to a reply."""

"""Faults: as values and as text, their queue, and their effects on a reply."""

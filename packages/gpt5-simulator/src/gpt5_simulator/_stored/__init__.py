"""Responses that are kept: what is stored, what can be asked about it, those that are made in the background."""

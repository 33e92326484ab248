"""The response object: its output items, its events, its usage."""

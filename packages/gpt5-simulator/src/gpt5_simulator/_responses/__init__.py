"""The response object: its output items, its events, what it costs."""

"""A stream: its bytes as events, its events as blocks and whole items, and its visible text."""

"""A stream: its bytes as events, its events as blocks and whole items, and what a person sees of it."""

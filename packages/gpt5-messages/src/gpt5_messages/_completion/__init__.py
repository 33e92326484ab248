"""The content of a response: its text, calls, usage, citations and hosted tools, and how it failed."""

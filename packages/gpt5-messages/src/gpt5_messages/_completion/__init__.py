"""What a response says: its text, calls, usage, citations and hosted tools, and how it failed."""

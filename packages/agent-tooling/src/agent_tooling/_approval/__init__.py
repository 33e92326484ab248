"""Rules that say which tool calls a person has to approve, and where their paths lead."""

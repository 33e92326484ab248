"""The page to talk to an agent."""

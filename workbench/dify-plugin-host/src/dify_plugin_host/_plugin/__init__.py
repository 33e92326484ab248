"""A plugin, read without starting it: its declarations, its offers, and its source."""

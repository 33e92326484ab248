"""Measures the plugins, and the official ones beside them, through the real process protocol."""

"""Settings as people type them, normalised or refused by name."""

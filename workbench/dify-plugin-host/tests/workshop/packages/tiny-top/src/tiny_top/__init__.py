"""Is needed by the plugins."""

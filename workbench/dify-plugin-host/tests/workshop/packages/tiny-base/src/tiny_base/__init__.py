"""Is needed by tiny-top."""

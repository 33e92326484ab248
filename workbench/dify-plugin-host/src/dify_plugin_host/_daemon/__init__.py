"""The plugin daemon's HTTP API."""

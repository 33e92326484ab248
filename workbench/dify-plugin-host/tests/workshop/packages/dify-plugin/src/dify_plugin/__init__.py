"""Stands in for the plugin SDK."""

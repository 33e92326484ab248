"""Adapters that let other libraries use what Dify's plugins offer."""

"""Adapters that let other libraries use the models of Dify's plugins."""

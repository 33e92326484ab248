"""Stored responses: the store, the calls about one, and those that are made in the background."""

"""A conversation as input items, and what of it may go back to the API."""

"""A conversation as input items, and the items that may go back to the API."""

"""Checks for requests that a real server would refuse, with its errors."""

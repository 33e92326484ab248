"""Dify's own paths, on which its API runs agents: requests in, runs and events out, in each version of its protocol."""

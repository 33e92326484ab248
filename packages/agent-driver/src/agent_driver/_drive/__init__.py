"""Drives: how a run is played, blocking and in an event loop, with the agents among its tools, and how it is written into a log."""

"""A plugin's process: its start, the traffic over its pipes, and its end."""

"""A script's process: its start, its lines, and its end, even if the runner is killed."""

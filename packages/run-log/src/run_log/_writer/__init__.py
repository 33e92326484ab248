"""Writing the lines of a run, without its secrets."""

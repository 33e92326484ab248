"""Reading the lines of runs, and what differs between their requests."""

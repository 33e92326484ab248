"""The lines of a run: their JSON, the values and requests in them, and the files that they stand in."""

"""The engine: executes the runs of the database, and pushes their events to watchers."""

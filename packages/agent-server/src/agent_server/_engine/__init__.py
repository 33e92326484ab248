"""Executes the runs of the database, and pushes their events to those who watch."""

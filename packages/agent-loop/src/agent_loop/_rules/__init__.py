"""The rules of a run: functions that take its settings, its state and what has come, and return the events that follow."""

"""The models: turns of a script, and the demonstration model with its hosted tools."""

"""The models: turns of a script, and the demonstration model."""

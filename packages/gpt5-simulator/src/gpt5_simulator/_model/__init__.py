"""What a model says: turns of a script, and the demonstration with its hosted tools."""

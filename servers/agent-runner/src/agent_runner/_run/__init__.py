"""A run of an agent, from its input to its result, and its log."""

"""Declarations: an agent, its models and settings, what its tools say of their calls, and the settings of a drive."""

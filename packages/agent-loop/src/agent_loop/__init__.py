"""The rounds of an agent run as a state machine with no I/O."""

"""The command `agent-runner` and its output, for people and for machines."""

"""Durable agent runs over HTTP: a queue, steps that are not repeated, events that can be read again. An executor brings the agents."""

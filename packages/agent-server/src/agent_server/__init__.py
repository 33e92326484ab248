"""Durable agent runs over HTTP: a queue, steps that are not repeated, events that can be read again; the agents are an executor's."""

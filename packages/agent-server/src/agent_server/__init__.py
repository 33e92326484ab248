"""Agent runs served durably: a queue, steps that are not repeated, events that can be read again, HTTP. Knows no agent."""

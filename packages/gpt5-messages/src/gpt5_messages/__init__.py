"""Conversations to Responses items, stream events to blocks, and completed output back again. No I/O."""

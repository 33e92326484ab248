"""Background responses: followed across broken streams, polled, attached to, submitted as jobs.

What decides about following one is written once. How a step is waited for, and cancelled, is written twice, for the reason that `_streams` gives.
"""

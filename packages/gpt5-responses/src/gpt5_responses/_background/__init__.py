"""Background responses: followed across broken streams, polled, attached to, submitted as jobs."""

"""What may be logged of a Responses call, and nothing else."""

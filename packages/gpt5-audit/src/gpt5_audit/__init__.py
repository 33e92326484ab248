"""What may be logged of a Responses call, and nothing else."""

from ._log import AuditLog


__all__ = ["AuditLog"]

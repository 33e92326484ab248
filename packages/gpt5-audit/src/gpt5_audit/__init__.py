"""What may be logged of a Responses call, and nothing else."""

from gpt5_audit._log import AuditLog


__all__ = ["AuditLog"]

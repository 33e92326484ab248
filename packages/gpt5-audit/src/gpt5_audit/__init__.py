"""An audit log of Responses API calls that cannot contain prompts or keys."""

from ._log import AuditLog


__all__ = ["AuditLog"]

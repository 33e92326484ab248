"""The audit log, written to Dify's plugin log where the operator has switched it on."""

import logging

from gpt5_audit import AuditLog


# Below the SDK's own logger, whose handler writes the plugin log.
_LOGGER = logging.getLogger("dify_plugin.plugin.audit.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)

AUDIT = AuditLog.from_env(_LOGGER.info)
"""The audit log of this process; off unless `OPENAI_GPT5_AUDIT_LOG` says otherwise."""

"""The audit log, written to Dify's plugin log where the operator has switched it on."""

import logging

from gpt5_audit import AuditLog
from stream_text import KnownSecrets


# Below the SDK's own logger, whose handler writes the plugin log.
_LOGGER = logging.getLogger("dify_plugin.plugin.audit.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)

_IS_ENABLED = AuditLog.from_env(_LOGGER.info).enabled


def audit_without(secrets: KnownSecrets) -> AuditLog:
    """Return the log for calls with these secrets; off unless `OPENAI_GPT5_AUDIT_LOG` says otherwise."""
    return AuditLog(lambda line: _LOGGER.info(secrets.redact(line)), enabled=_IS_ENABLED)

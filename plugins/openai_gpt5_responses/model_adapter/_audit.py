"""The audit log, written to Dify's plugin log where the operator has switched it on."""

import logging

from dify_plugin.config.logger_format import plugin_logger_handler
from gpt5_audit import AuditLog


_LOGGER = logging.getLogger("dify_plugin.plugin.audit.openai_gpt5_responses")
_LOGGER.setLevel(logging.INFO)
_LOGGER.addHandler(plugin_logger_handler)

AUDIT = AuditLog.from_env(_LOGGER.info)
"""The audit log of this process; off unless `OPENAI_GPT5_AUDIT_LOG` says otherwise."""

"""The tenants of the daemon, of which one may be the only one that has the plugins.

Source: PostgreSQL's type `uuid`, which the daemon has for tenants, and what it answers without installations, as recorded in `tests/exchanges`.
"""

import re
import uuid

from dify_plugin_host._errors import DaemonServerError

from .envelope import RefusalError


# A hyphen may follow any four digits but the last ones, and braces may stand around all of it.
_UUID = re.compile(r"(\{)?([0-9a-f]{4}-?){7}[0-9a-f]{4}(?(1)\})", re.ASCII | re.IGNORECASE)


class Tenants:
    """The tenants that have the plugins.

    Args:
        only: The id of the only one, a UUID in any form that PostgreSQL takes; None for any.

    Attributes:
        only: The same in the usual form.

    Raises:
        DaemonServerError: If the id is not a UUID.
    """

    def __init__(self, only: str | None = None) -> None:
        if only is not None and not _UUID.fullmatch(only):
            raise DaemonServerError(f"the tenant: expected a UUID, got {only!r:.80}")
        self.only = None if only is None else str(uuid.UUID(only))

    def has_plugins(self, tenant_id: str, *, status: int = 200) -> bool:
        """Tell whether a tenant has the plugins.

        Raises:
            RefusalError: If the id is not a UUID although only one tenant has them, with this status.
        """
        if self.only is None:
            return True
        if not _UUID.fullmatch(tenant_id):
            problem = f'invalid input syntax for type uuid: "{tenant_id}"'
            text = f"ERROR: {problem} (SQLSTATE 22P02)"
            raise RefusalError("PluginDaemonInternalServerError", text, status=status)
        return str(uuid.UUID(tenant_id)) == self.only

    def written(self, tenant_id: str) -> str:
        """Return the id of a tenant that has the plugins as the lists show it."""
        return self.only or tenant_id

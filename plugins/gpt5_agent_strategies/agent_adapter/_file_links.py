"""Links to files of tools, which Dify sends but the plugin SDK does not know.

Source: docs/evidence/dify-platform.md, P20.
"""

from collections.abc import Generator
from typing import Any, cast

from dify_plugin.core.entities.invocation import InvokeType
from dify_plugin.core.runtime import Session
from dify_plugin.entities.tool import ToolInvokeMessage
from dify_plugin.invocations.tool import ToolInvocation


_TYPES = ToolInvokeMessage.MessageType


class FileLink(ToolInvokeMessage):
    """A link to a file that is not an image.

    Its type is that of a link to an image: the agent node treats both alike, and takes the type from the stored file.
    """

    def to_link(self) -> ToolInvokeMessage:
        """Return the message for the model: a plain link."""
        return ToolInvokeMessage(type=_TYPES.LINK, message=self.message, meta=self.meta)


class _Tools(ToolInvocation):
    """The SDK's calls of tools, extended by answers with links to files."""

    def _backwards_invoke(
        self,
        type: InvokeType,  # noqa: A002 - the SDK's name
        data_type: type[ToolInvokeMessage],  # noqa: ARG002 - our reader replaces it
        data: dict[str, Any],
    ) -> Generator[ToolInvokeMessage]:
        reader = cast("type[ToolInvokeMessage]", _read_message)
        return super()._backwards_invoke(type, reader, data)


def _read_message(**fields: Any) -> ToolInvokeMessage:
    if fields.get("type") != "binary_link":
        return ToolInvokeMessage.model_validate(fields)
    return FileLink.model_validate({**fields, "type": _TYPES.IMAGE_LINK})


def accept_file_links(session: Session) -> None:
    """Let the tools of a session answer with links to files, too."""
    if type(session.tool) is ToolInvocation:
        session.tool = _Tools(session)

"""The event `message`."""

from collections.abc import Mapping
from typing import Any

from dify_plugin.entities.trigger import Variables
from dify_plugin.errors.trigger import EventIgnoreError
from dify_plugin.interfaces.trigger import Event
from werkzeug import Request


class MessageEvent(Event):
    """A message that has come in."""

    def _on_event(
        self,
        request: Request,
        parameters: Mapping[str, Any],
        payload: Mapping[str, Any],
    ) -> Variables:  # pyright: ignore[reportGeneralTypeIssues] - the SDK hides that it is a class
        """Return the workflow's variables for a message that `Provider` has received.

        Raises:
            EventIgnoreError: If the node wants other messages.
        """
        if str(parameters.get("contains") or "") not in payload["text"]:
            raise EventIgnoreError
        return Variables(  # pyright: ignore[reportCallIssue, reportOptionalCall] - as above
            variables={"sender": payload["sender"], "text": payload["text"]}
        )

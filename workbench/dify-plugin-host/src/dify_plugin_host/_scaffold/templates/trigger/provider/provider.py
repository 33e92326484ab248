"""The receiver of a subscription's webhook."""

import hashlib
import hmac
from typing import Literal

from dify_plugin.entities.trigger import EventDispatch, Subscription
from dify_plugin.interfaces.trigger import Trigger
from pydantic import BaseModel, ValidationError
from werkzeug import Request, Response


class Message(BaseModel):
    """The JSON of a request."""

    type: Literal["message"]
    sender: str
    text: str


class Provider(Trigger):
    """A receiver of signed messages."""

    def _dispatch_event(
        self,
        subscription: Subscription,  # pyright: ignore[reportGeneralTypeIssues] - the SDK hides that it is a class
        request: Request,
    ) -> EventDispatch:
        """Check a request, and name the events that it means; each gets the message as its payload.

        What is refused gets an answer without events: Dify would send the text of an exception, with its traceback, to whoever asked.
        """
        body = request.get_data()
        secret = str(subscription.properties.get("secret") or "")
        signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        given = request.headers.get("X-Signature", "")
        # Without a secret anybody could sign.
        if not secret or not hmac.compare_digest(given.encode(), f"sha256={signature}".encode()):
            return _refusal(
                401, "expected the header 'X-Signature', sha256= and the HMAC of the body"
            )
        try:
            message = Message.model_validate_json(body)
        except ValidationError:
            return _refusal(400, "expected JSON with type 'message', a sender and a text")
        return EventDispatch(
            events=["message"], response=Response(status=204), payload=message.model_dump()
        )


def _refusal(status: int, text: str) -> EventDispatch:
    response = Response(text, status=status, content_type="text/plain; charset=utf-8")
    return EventDispatch(events=[], response=response)

"""The receiver of a subscription's webhook."""

import hashlib
import hmac
from typing import Literal

from dify_plugin.entities.trigger import EventDispatch, Subscription
from dify_plugin.errors.trigger import TriggerDispatchError, TriggerValidationError
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

        Raises:
            TriggerValidationError: If it is not signed with the subscription's secret.
            TriggerDispatchError: If it holds no message.
        """
        body = request.get_data()
        signature = hmac.new(str(subscription.properties["secret"]).encode(), body, hashlib.sha256)
        expected = f"sha256={signature.hexdigest()}"
        if not hmac.compare_digest(
            request.headers.get("X-Signature", "").encode(), expected.encode()
        ):
            raise TriggerValidationError(
                "expected the header 'X-Signature', sha256= and the HMAC of the body"
            )
        try:
            message = Message.model_validate_json(body)
        except ValidationError:
            raise TriggerDispatchError(
                "expected JSON with type 'message', a sender and a text"
            ) from None
        return EventDispatch(
            events=["message"], response=Response(status=204), payload=message.model_dump()
        )

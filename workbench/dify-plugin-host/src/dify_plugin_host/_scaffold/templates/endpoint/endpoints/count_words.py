"""The endpoint `POST /count-words`."""

import hmac
from collections.abc import Mapping
from typing import Any

from dify_plugin import Endpoint
from pydantic import BaseModel, ValidationError
from werkzeug import Request, Response


class Order(BaseModel):
    """The JSON that a caller sends."""

    text: str


class Answer(BaseModel):
    """The JSON that a caller gets."""

    words: int


class CountWords(Endpoint):
    """A counter of words for programs that have the token."""

    def _invoke(
        self,
        r: Request,
        values: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> Response:
        """Answer a request: 200 with the number of words, 401 without the token, 400 for anything but the expected JSON."""
        expected = f"Bearer {settings['token']}"
        # Takes as long for a wrong token as for the right one, so that nobody finds it out letter by letter.
        if not hmac.compare_digest(r.headers.get("Authorization", "").encode(), expected.encode()):
            return _text(
                401,
                "expected the header 'Authorization: Bearer TOKEN' with the token of the settings",
            )
        try:
            order = Order.model_validate_json(r.get_data())
        except ValidationError:
            return _text(400, 'expected JSON such as {"text": "some words"}')
        answer = Answer(words=len(order.text.split()))
        return Response(answer.model_dump_json(), content_type="application/json")


def _text(status: int, text: str) -> Response:
    return Response(text, status=status, content_type="text/plain; charset=utf-8")

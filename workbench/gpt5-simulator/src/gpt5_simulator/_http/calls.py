"""A request with an accepted key, over HTTP or as a message on a WebSocket."""

import hashlib
import json
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from gpt5_simulator._errors import ApiError
from gpt5_simulator._faults.faults import Fault
from gpt5_simulator._json import Json, is_object
from gpt5_simulator._reply import JSON
from gpt5_simulator._stored.store import Lane


_MESSAGE = "response.create"


@dataclass(frozen=True, slots=True)
class Call:
    """A request with an accepted key.

    Attributes:
        request: The request; for a message on a WebSocket the one that opened it.
        raw: Its body.
        number: Its number in the log.
        owner: The fingerprint of its key.
        faults: The faults that hit it.
        lane: What its WebSocket remembers; None over HTTP.
    """

    request: HTTPConnection
    raw: bytes
    number: int
    owner: str
    faults: tuple[Fault, ...]
    lane: Lane | None = None

    @property
    def source(self) -> str:
        """Text that no other request has, and the same for the same requests in the same order, so that ids are."""
        return f"{self.number}:{hashlib.sha256(self.raw).hexdigest()}"

    def body(self) -> Json:
        """Return its body, decoded.

        Raises:
            ApiError: If it is not a JSON object, or has another content type; of a message, another type.
        """
        kind = self.request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON and self.lane is None:
            text = f"Unsupported content type: '{kind}'. This API method only accepts '{JSON}' requests."
            raise ApiError(text, code="unsupported_content_type")
        try:
            decoded: object = json.loads(self.raw, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise ApiError("We could not parse the JSON body of your request.") from error
        if not is_object(decoded):
            raise ApiError("The JSON body of your request has to be an object.")
        if self.lane is None:
            return decoded
        if decoded.get("type") != _MESSAGE:
            text = f"Invalid value: {decoded.get('type')!r}. Supported values are: '{_MESSAGE}'."
            raise ApiError(text, param="type", code="invalid_value")
        return decoded | {"stream": True}


def _refuse_constant(name: str) -> None:
    """Refuse `NaN` and the infinities, which Python reads although JSON has no such numbers."""
    raise ValueError(name)

"""The plugin's side of the stdio protocol, spoken without the SDK: the other end of the pipe in the tests of the host."""

import _json  # noqa: PLC2701 - what it has nobody else has without `re`
import binascii
import itertools
import sys


_numbers = itertools.count()


class _Json:
    """What `json` is without `re`, whose import takes a third of the time in which such a plugin starts."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float
    _escape = _json.encode_basestring_ascii
    _encode = _json.make_encoder(None, None, _escape, None, ": ", ", ", False, False, True)

    def dumps(self, value):
        return "".join(self._encode(value, 0))

    def loads(self, text):
        return _json.make_scanner(self)(text, 0)[0]


json = _Json()


def line(text):
    """Write one raw line, with the blank line that the SDK writes after it."""
    sys.stdout.write(text + "\n\n")
    sys.stdout.flush()


def send(event, data, session_id=None):
    line(json.dumps({"event": event, "session_id": session_id, "data": data}))


def ready():
    """Print what the SDK prints first: the manifest, a log record, a heartbeat."""
    line(json.dumps({"name": "manifest"}))
    send("log", {"level": "INFO", "message": "loaded", "timestamp": 0.0})
    send("heartbeat", {})


def messages():
    return (json.loads(text) for text in sys.stdin)


def requests():
    return (message for message in messages() if message["event"] == "request")


def session(request, kind, data):
    send("session", {"type": kind, "data": data}, request["session_id"])


def stream(request, data):
    session(request, "stream", data)


def error(request, error_type, message, args=None):
    session(request, "error", {"error_type": error_type, "message": message, "args": args or {}})


def end(request):
    session(request, "end", {})


def blob_chunk(request, content, *, sequence, total, last):
    message = {
        "id": "blob-1",
        "sequence": sequence,
        "total_length": total,
        "blob": binascii.b2a_base64(content, newline=False).decode(),
        "end": last,
    }
    stream(request, {"type": "blob_chunk", "message": message, "meta": {"mime_type": "x/y"}})


def call(request, kind, payload):
    """Start a backwards call and return its id."""
    request_id = f"{next(_numbers):032x}"
    data = {"type": kind, "backwards_request_id": request_id, "request": payload}
    session(request, "invoke", data)
    return request_id


def replies(count=1):
    """Read stdin until `count` backwards calls have ended; return every reply line's data."""
    taken = []
    while count:
        message = json.loads(sys.stdin.readline())
        if message["event"] == "backwards_response":
            taken.append(message["data"])
            count -= message["data"]["event"] == "end"
    return taken

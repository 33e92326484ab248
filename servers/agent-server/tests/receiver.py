"""A program that a webhook tells of runs."""

import json
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook


SECRET = "whsec_c2lnbmVkIHdpdGggdGhpcywgYXMgYWdyZWVk"


@dataclass
class Call:
    path: str
    headers: dict[str, str]
    body: str
    came_at: float = field(default_factory=time.time)

    @property
    def id(self):
        return self.headers["webhook-id"]

    def verify(self):
        """Return what was told, if the signature is right."""
        return Webhook(SECRET).verify(self.body, self.headers)


class Receiver:
    """Receives what it is sent, in threads of its own, and answers with one status after the other; the last of them again and again.

    With a flood it sends that again and again before its answer, until whoever asks has gone. With a certificate, a
    file that also holds its key, it speaks TLS.

    Attributes:
        calls: What it was sent.
        answers: Set while it answers; what comes before waits.
    """

    def __init__(self, *statuses, certificate=None, flood=b""):
        self.calls = []
        self._flood = flood
        self.answers = threading.Event()
        self.answers.set()
        self._statuses = list(statuses) or [204]
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}/hook"
        self.settings = {"webhook_url": f"{self.url}?token=hidden", "webhook_secret": SECRET}

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.answers.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def told(self):
        """What it was told of which run, in the order of the ids."""
        return sorted((one.id, json.loads(one.body)["data"]["run_id"]) for one in self.calls)

    def _handler(self):
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                headers = {name.lower(): text for name, text in self.headers.items()}
                receiver.calls.append(Call(self.path, headers, body))
                receiver.answers.wait()
                several = len(receiver._statuses) > 1
                status = receiver._statuses.pop(0) if several else receiver._statuses[0]
                with suppress(OSError):  # whoever sent it may be gone
                    while receiver._flood:
                        self.wfile.write(receiver._flood)
                    self.send_response(status)
                    self.send_header("location", "/elsewhere")
                    self.end_headers()

            do_GET = do_POST  # noqa: N815 - as the library has it

            def log_message(self, *_):
                pass

        return Handler

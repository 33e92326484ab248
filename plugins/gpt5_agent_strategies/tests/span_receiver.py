"""A server that takes spans over OTLP."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.may_answer.wait(60)
        self.server.bodies.append(body)
        self.send_response(200)
        self.end_headers()
        self.server.has_come.set()

    def log_message(self, *_):
        """Be silent."""


@contextmanager
def receive_spans():
    """Run the server on a port of its own, while it `may_answer`."""
    with HTTPServer(("127.0.0.1", 0), _Receiver) as server:
        server.url = f"http://127.0.0.1:{server.server_port}"
        server.bodies, server.has_come = [], threading.Event()
        server.may_answer = threading.Event()
        server.may_answer.set()
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()

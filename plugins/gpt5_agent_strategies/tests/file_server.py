"""A server of files as Dify has one, some files, and what a model sees of them."""

import base64
import http.server
import json
import threading
from contextlib import contextmanager


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
JPEG = b"\xff\xd8\xff\xe0" + bytes(range(200))
PDF = b"%PDF-1.7\n" + bytes(range(100))
SEES = {"entity": {"features": ["tool-call", "vision", "document"]}}
BLIND = {"entity": {"features": ["tool-call"]}}


class Files(http.server.BaseHTTPRequestHandler):
    """A server of files as Dify has one: what it is asked for is noted, and a link may have ended."""

    def do_GET(self):
        self.server.asked.append(self.path)
        found = self.server.files.get(self.path)
        if isinstance(found, str):
            self.send_response(302)
            self.send_header("location", found)
            self.end_headers()
            return
        if found is None:
            self.send_error(403)
            return
        if found == b"wait":
            self.server.waiting.wait(600)
            return
        self.send_response(200)
        self.send_header("content-length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        self.server.uploads.append(data)
        path = f"/new-{len(self.server.uploads)}"
        self.server.files[path] = data
        new = {"id": "new", "name": "a", "size": 1, "extension": "", "mime_type": ""}
        self.send_response(201)
        self.end_headers()
        self.wfile.write(json.dumps({**new, "preview_url": self.server.url + path}).encode())

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def serve_files():
    """Run the server on a port of its own."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as running:
        running.files, running.asked, running.uploads = {}, [], []
        running.waiting = threading.Event()
        running.url = f"http://127.0.0.1:{running.server_port}"
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.waiting.set()
        running.shutdown()


def prompts(agent, request=-1):
    return agent.dify.model_requests[request]["prompt_messages"]


def seen(message):
    """What a model sees of a message: the texts, and the bytes of everything else."""
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [
        part["data"] if part["type"] == "text" else base64.b64decode(part["base64_data"])
        for part in content
    ]

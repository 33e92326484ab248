"""Distributions made here, and an index that serves them: as small as they can be."""

import base64
import contextlib
import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


# A build backend that needs nothing, and lies beside what it builds.
BACKEND = """
import zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    name = "{wheel}"
    stem = "{module}-{version}"
    with zipfile.ZipFile(f"{{folder}}/{{name}}", "w") as archive:
        files = {{
            "{module}.py": "",
            f"{{stem}}.dist-info/METADATA": "Metadata-Version: 2.2\\nName: {name}\\nVersion: {version}\\n",
            f"{{stem}}.dist-info/WHEEL": "Wheel-Version: 1.0\\nTag: {tag}\\n",
        }}
        record = f"{{stem}}.dist-info/RECORD"
        for path, text in {{**files, record: "".join(f"{{path}},,\\n" for path in [*files, record])}}.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return name
"""

PROJECT = """
[project]
name = "{name}"
version = "{version}"

[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


def metadata(name, version, requires):
    lines = ["Metadata-Version: 2.2", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires if not one.startswith("extra:")]
    return "\n".join([*lines, ""])


def wheel(folder, name, version, *requires, tag="py3-none-any", padding=0):
    """Write a wheel whose module says its version."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": f"VERSION = {version!r}\n# {'x' * padding}",
        f"{info}/METADATA": metadata(name, version, requires),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name_in, text in files.items():
            archive.writestr(zipfile.ZipInfo(name_in), text)
    return path


def source_files(name, version, *, tag="py3-none-any"):
    """Return the files of a project that builds a wheel of this tag."""
    module = name.replace("-", "_")
    values = {"name": name, "module": module, "version": version, "tag": tag}
    values["wheel"] = f"{module}-{version}-{tag}.whl"
    return {"backend.py": BACKEND.format(**values), "pyproject.toml": PROJECT.format(**values)}


def sdist(folder, name, version, *, tag="py3-none-any"):
    """Write a source distribution."""
    stem = f"{name.replace('-', '_')}-{version}"
    files = {**source_files(name, version, tag=tag), "PKG-INFO": metadata(name, version, ())}
    with tarfile.open(folder / f"{stem}.tar.gz", "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{stem}/{path}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


class Index:
    """A package index on loopback."""

    def __init__(self, folder, user=""):
        self.folder, self.user, self.asked = folder, user, []
        self.has_hashes = True
        folder.mkdir(exist_ok=True)
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                index.asked.append(self.path)
                expected = f"Basic {base64.b64encode(index.user.encode()).decode()}"
                if index.user and self.headers.get("Authorization") != expected:
                    return self._answer(401, b"")
                body = index.find(self.path.strip("/").split("/"))
                return self._answer(404 if body is None else 200, body or b"")

            def _answer(self, code, body):
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                kind = "octet-stream" if self.path.startswith("/files/") else "html"
                self.send_header("Content-Type", "text/html" if kind == "html" else f"a/{kind}")
                if code == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_CONNECT = do_GET  # noqa: N815 - the server's names

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}/simple"

    def find(self, parts):
        match parts:
            case ["files", name] if (self.folder / name).is_file():
                return (self.folder / name).read_bytes()
            case ["simple", name]:
                files = sorted(self.folder.glob(f"{name.replace('-', '_')}-*"))
                links = [
                    f'<a href="/files/{file.name}{self._fragment(file)}">{file.name}</a>'
                    for file in files
                ]
                return "<br>".join(links).encode() if links else None
        return None

    def _fragment(self, file):
        return f"#sha256={digest(file)}" if self.has_hashes else ""

    @contextlib.contextmanager
    def serve(self):
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()

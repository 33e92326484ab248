"""The messages of one call: printed for people, or line by line for programs, without the credentials of the call."""

import json
from typing import TextIO

from dify_plugin_packager.json_access import JsonObject, object_at
from stream_text import KnownSecrets, SecretFilter

from .files import Files
from .screen import file_line, printable


class CallScreen:
    """A printer of messages as they come.

    Args:
        out: The stream to print to.
        files: Takes the files out of messages.
        secrets: Texts that are never printed.
        as_json: Whether to print one JSON object a line, for programs.
    """

    def __init__(self, out: TextIO, *, files: Files, secrets: KnownSecrets, as_json: bool) -> None:
        self._out = out
        self._files = files
        self._secrets = secrets
        # A secret may be split between the pieces of a text.
        self._text = SecretFilter(self._secrets)
        self._at_line_start = True
        self._as_json = as_json

    def show(self, message: JsonObject) -> None:
        """Print a message; save its file."""
        file = self._files.read(message)
        path = self._files.save(file) if file else None
        if self._as_json:
            self._write(self._secrets.redact(_line(message, str(path) if path else None)) + "\n")
            return
        content = object_at(message, "message")
        match message.get("type"):
            case "text":
                self._piece(self._text.feed(str(content.get("text") or "")))
                return
            case _ if file:
                shown = file_line(file.name, file.mime_type, len(file.content), path)
            case "json":
                shown = json.dumps(content.get("json_object"), ensure_ascii=False, indent=2)
            case "variable":
                value = json.dumps(content.get("variable_value"), ensure_ascii=False)
                shown = f"[variable] {content.get('variable_name')} = {value}"
            case "log":
                shown = _log_line(content)
            case kind:
                shown = f"[{kind}] {json.dumps(content, ensure_ascii=False)}"
        self.end_text()
        self._piece(self._secrets.redact(shown) + "\n")

    def end_text(self) -> None:
        """Print what is left of a text, and end its line."""
        self._piece(self._text.close())
        if not self._at_line_start:
            self._piece("\n")

    def _piece(self, text: str) -> None:
        if text:
            self._write(printable(text))
            self._at_line_start = text.endswith("\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _line(message: JsonObject, path: str | None) -> str:
    if path:
        # The file stands where it was saved; its bytes would only repeat it.
        rest = {name: value for name, value in message["message"].items() if name != "blob"}
        message = {**message, "message": rest, "meta": {**(message["meta"] or {}), "path": path}}
    return json.dumps(message, ensure_ascii=False)


def _log_line(log: JsonObject) -> str:
    data = json.dumps(log.get("data"), ensure_ascii=False)
    error = f": {log['error']}" if log.get("error") else ""
    return f"[log] {log.get('label')} {log.get('status')} {data}{error}"

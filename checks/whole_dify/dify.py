"""Clients of a running Dify: its console, as its web page uses it, and the service API of an app, as people's programs use it."""

import base64
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx


type Json = dict[str, Any]

_INSTALL_SECONDS = 600
_SECONDS = 900
_PLUGINS = "/workspaces/current/plugin"


class Refused(Exception):  # noqa: N818 - what Dify did, which a test may want
    """What Dify has answered with a status of 400 or more."""


def _read(response: httpx.Response) -> Any:
    if response.is_error:
        response.read()
        raise Refused(f"{response.status_code} {response.text}")
    return response.json() if response.content else None


class Console:
    """The console of a Dify, logged in; one that is new gets its admin first.

    Args:
        url: Where Dify's API is.
        email: Whom to log in.
        password: Their password.
    """

    def __init__(self, url: str, email: str, password: str) -> None:
        self._client = httpx.Client(
            base_url=f"{url}/console/api", trust_env=False, timeout=_SECONDS
        )
        if self.get("/setup")["step"] == "not_started":
            self.post("/setup", email=email, name="admin", password=password)
        self._log_in(email, password)
        version = self.get("/version", current_version="0.0.0")["version"]
        self.release = tuple(map(int, version.split(".")[:2]))

    @property
    def cookies(self) -> dict[str, str]:
        """What shows a browser to be logged in."""
        return dict(self._client.cookies)

    def get(self, path: str, **query: Any) -> Any:
        return _read(self._client.get(path, params=query))

    def post(self, path: str, **body: Any) -> Any:
        return _read(self._client.post(path, json=body))

    def bytes_of(self, path: str, **query: Any) -> bytes:
        return self._client.get(path, params=query).raise_for_status().content

    def delete(self, path: str, **named: Any) -> None:
        # Up to 1.16 Dify reads what is named in the body, from 1.17 on in the query.
        _read(self._client.request("DELETE", path, params=named, json=named))

    def upload(self, package: Path) -> Json:
        """Upload a package, and return what Dify says of it."""
        files = {"pkg": (package.name, package.read_bytes())}
        return _read(self._client.post(f"{_PLUGINS}/upload/pkg", files=files))

    def install(self, package: Path) -> str:
        """Install a package in place of another of its name, as the page does, and return the plugin's identifier."""
        uploaded = self.upload(package)
        manifest, identifier = uploaded["manifest"], uploaded["unique_identifier"]
        if identifier in {plugin["plugin_unique_identifier"] for plugin in self.plugins()}:
            return identifier
        self.uninstall(f"{manifest['author']}/{manifest['name']}")
        begun = self.post(f"{_PLUGINS}/install/pkg", plugin_unique_identifiers=[identifier])
        if begun["all_installed"]:
            return identifier

        def ended() -> Json | None:
            task = self.get(f"{_PLUGINS}/tasks/{begun['task_id']}")["task"]
            return task if task["status"] in {"success", "failed"} else None

        task = wait_until(ended, f"the installation of {identifier}", _INSTALL_SECONDS)
        if task["status"] == "failed":
            raise Refused(json.dumps(task))
        return identifier

    def uninstall(self, plugin_id: str) -> None:
        """Uninstall a plugin, if it is installed."""
        for plugin in self.plugins():
            if plugin["plugin_id"] == plugin_id:
                identifier = plugin["installation_id"]
                self.post(f"{_PLUGINS}/uninstall", plugin_installation_id=identifier)

    def plugins(self) -> list[Json]:
        return self.get(f"{_PLUGINS}/list", page=1, page_size=100)["plugins"]

    def save_credentials(self, provider: str, credentials: Mapping[str, str]) -> None:
        """Save a model provider's credentials in place of those there are; Dify has the plugin check them."""
        path = f"/workspaces/current/model-providers/{provider}/credentials"
        body = {"credentials": credentials, "name": "whole-dify"}
        saved = self.provider(provider)["custom_configuration"].get("current_credential_id")
        if saved:
            _read(self._client.put(path, json={**body, "credential_id": saved}))
        else:
            self.post(path, **body)

    def provider(self, name: str) -> Json:
        """Return what Dify's page knows of a model provider."""
        providers = self.get("/workspaces/current/model-providers")["data"]
        return next(one for one in providers if one["provider"] == name)

    def _log_in(self, email: str, password: str) -> None:
        # Newer ones take it encoded, older ones as it is.
        for sent in (base64.b64encode(password.encode()).decode(), password):
            body = {"email": email, "password": sent, "remember_me": True}
            answer = self._client.post("/login", json=body)
            if answer.is_success:
                break
        _read(answer)
        # Dify's cookies are meant for a browser, which takes those of loopback for secure.
        for cookie in self._client.cookies.jar:
            cookie.secure = False
        token = next(one for name, one in self._client.cookies.items() if "csrf" in name)
        self._client.headers["X-CSRF-Token"] = token


@dataclass
class Run:
    """What the service API has streamed of an answer or a run.

    Attributes:
        events: The events, each with its time in seconds since the request.
    """

    events: list[tuple[float, Json]] = field(default_factory=list)

    def of(self, *kinds: str) -> list[Json]:
        return [event for _, event in self.events if event["event"] in kinds]

    @property
    def text(self) -> str:
        chats = "".join(event["answer"] for event in self.of("message", "agent_message"))
        return chats or "".join(event["data"]["text"] for event in self.of("text_chunk"))

    @property
    def answer(self) -> str:
        """The text without what stands between `<think>` and `</think>`."""
        return self.text.rpartition("</think>")[2].strip()

    @property
    def error(self) -> str:
        """What went wrong, as it is told at the end of a run or of a chat; empty if nothing did."""
        ends = [event["data"]["error"] for event in self.of("workflow_finished")]
        return next(
            (text for text in (*ends, *(e["message"] for e in self.of("error"))) if text), ""
        )

    @property
    def usage(self) -> Json:
        return self.of("message_end")[0]["metadata"]["usage"]

    @property
    def outputs(self) -> Json:
        return self.of("workflow_finished")[0]["data"]["outputs"]

    @property
    def conversation(self) -> str:
        return self.events[0][1]["conversation_id"]

    @property
    def task(self) -> str:
        return self.events[0][1]["task_id"]

    def node(self, name: str) -> Json:
        """Return what Dify says of a node that has ended."""
        return next(e["data"] for e in self.of("node_finished") if e["data"]["node_id"] == name)

    @property
    def log(self) -> list[Json]:
        """The entries of the agent's log, each in its last state, in the order in which they began."""
        entries: dict[str, Json] = {}
        for event in self.of("agent_log"):
            entries[event["data"]["id"]] = event["data"]
        return list(entries.values())

    @property
    def first_text_seconds(self) -> float:
        texts = {"message", "agent_message", "text_chunk"}
        return next(seconds for seconds, event in self.events if event["event"] in texts)

    @property
    def seconds(self) -> float:
        return self.events[-1][0]


class Service:
    """The service API of one app.

    Args:
        url: Where Dify's API is.
        key: A key of the app.
        app: The app's id.
    """

    def __init__(self, url: str, key: str, app: str) -> None:
        self.app = app
        headers = {"Authorization": f"Bearer {key}"}
        self._client = httpx.Client(
            base_url=f"{url}/v1", headers=headers, trust_env=False, timeout=_SECONDS
        )

    def chat(
        self, query: str, *, conversation: str = "", inputs: Json | None = None, **more: Any
    ) -> Run:
        """Say something, and return all that Dify streams."""
        return self._run(
            "/chat-messages", inputs or {}, query=query, conversation_id=conversation, **more
        )

    def run(self, inputs: Json, **more: Any) -> Run:
        """Run a workflow, and return all that Dify streams."""
        return self._run("/workflows/run", inputs, **more)

    def stop(self, task: str) -> None:
        _read(self._client.post(f"/chat-messages/{task}/stop", json={"user": "somebody"}))

    def file(self, name: str, content: bytes, mime_type: str) -> Json:
        """Upload a file, and return how a message names it."""
        files, data = {"file": (name, content, mime_type)}, {"user": "somebody"}
        uploaded = _read(self._client.post("/files/upload", files=files, data=data))
        kind = "image" if mime_type.startswith("image/") else "document"
        return {"type": kind, "transfer_method": "local_file", "upload_file_id": uploaded["id"]}

    def _run(
        self,
        path: str,
        inputs: Json,
        *,
        on_event: Callable[[Json], None] = lambda _: None,
        **more: Any,
    ) -> Run:
        body = {"inputs": inputs, "response_mode": "streaming", "user": "somebody", **more}
        run, start = Run(), time.monotonic()
        with self._client.stream("POST", path, json=body) as response:
            if response.is_error:
                _read(response)
            for event in _events(response.iter_lines()):
                run.events.append((time.monotonic() - start, event))
                on_event(event)
        return run


def _events(lines: Iterable[str]) -> Iterator[Json]:
    for line in lines:
        if line.startswith("data:"):
            yield json.loads(line.removeprefix("data:"))


def wait_until[T](look: Callable[[], T], what: str, seconds: float = 30) -> T:
    """Look until there is something, and return it; fail with its name if it does not come in time."""
    end = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.2)
    return found

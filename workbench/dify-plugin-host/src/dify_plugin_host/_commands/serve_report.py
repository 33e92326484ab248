"""The output of `dify-host serve`: the address, the plugins and their routes, and the plugins' notices."""

import json
import sys
from collections.abc import Mapping
from typing import TextIO

from dify_plugin_host._daemon.server import DaemonServer
from dify_plugin_host._plugin.offers import Offer, offers
from dify_plugin_host._process.connection import Notice
from dify_plugin_packager.json_access import JsonObject

from .screen import is_quiet, printable


API_KEY = "DIFY_HOST_API_KEY"
"""The environment variable that may hold the key."""

_ROUTES = {
    "llm": "llm/invoke",
    "text-embedding": "text_embedding/invoke",
    "rerank": "rerank/invoke",
    "moderation": "moderation/invoke",
    "tts": "tts/invoke",
    "speech2text": "speech2text/invoke",
    "tools": "tool/invoke",
    "agent_strategies": "agent_strategy/invoke",
}

_KINDS = (
    "models",
    "model_types",
    "tools",
    "agent_strategies",
    "endpoints",
    "datasources",
    "triggers",
)


class Reporter:
    """A printer of the server's messages, for people or for programs.

    Args:
        out: The stream to print to.
        as_json: Whether to print JSON, for programs.
        verbose: Whether to print every notice of the plugins.
    """

    def __init__(self, out: TextIO, *, as_json: bool, verbose: bool) -> None:
        self._out = out
        self._as_json = as_json
        self._verbose = verbose

    def report_ready(
        self, server: DaemonServer, *, api_key: str | None, simulator: Mapping[str, str] | None
    ) -> None:
        """Print the server's address and its plugins.

        Args:
            server: The running server.
            api_key: The key that callers must send; None if they already have it.
            simulator: The credentials for the simulator, if there is one.
        """
        plugins = [_describe(server, plugin_id) for plugin_id in server.plugins]
        if self._as_json:
            self._write(
                {
                    "event": "ready",
                    "base_url": server.base_url,
                    "api_key": api_key,
                    "plugins": plugins,
                    "simulator_credentials": simulator and dict(simulator),
                }
            )
            return
        lines = [f"serving on {server.base_url}"]
        lines.append(
            f"export {API_KEY}={api_key}" if api_key else f"# {API_KEY}: the key that you gave"
        )
        for plugin_id, plugin in server.plugins.items():
            version = plugin.folder.version
            lines += ["", f"X-Plugin-ID: {plugin_id} ({version})"]
            lines += [f"  {_offer_line(offer)}" for offer in offers(plugin.folder)]
        lines += ["", _credential_line(simulator)]
        self._say("\n".join(lines))

    def report_notice(self, notice: Notice) -> None:
        """Print a notice of a plugin, such as a complaint or a failed call."""
        if is_quiet(notice) and not self._verbose:
            return
        text = printable(f"{notice.plugin}: {notice.level}: {notice.text}")
        if not self._as_json:
            self._say(text)
        elif notice.kind == "failed_call":
            # Many programs read only the address from stdout, and then a full pipe would stop the
            # server.
            print(text, file=sys.stderr, flush=True)  # noqa: T201 - for the person who runs the program
        else:
            fields = {"plugin": notice.plugin, "level": notice.level, "text": notice.text}
            self._write({"event": "notice", **fields})

    def _write(self, event: JsonObject) -> None:
        self._say(json.dumps(event, ensure_ascii=False))

    def _say(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()


def _describe(server: DaemonServer, plugin_id: str) -> JsonObject:
    folder = server.plugins[plugin_id].folder
    offered: JsonObject = {kind: {} for kind in _KINDS}
    for offer in offers(folder):
        names = list(offer.names)
        if offer.kind == "models":
            offered["models"].setdefault(offer.provider, [])
            offered["model_types"].setdefault(offer.provider, {})[offer.model_type] = names
            if offer.model_type == "llm":
                offered["models"][offer.provider] = names
        else:
            offered[offer.kind].setdefault(offer.provider, []).extend(names)
    return {"id": plugin_id, "version": folder.version, **offered}


def _offer_line(offer: Offer) -> str:
    names = ", ".join(offer.names) or "models that you name"
    named = f"{offer.provider}: {names}" if offer.provider else names
    kind = offer.model_type or offer.kind
    return (
        f"{_ROUTES[kind]}: {named}" if kind in _ROUTES else f"{kind}: {named} (no route for these)"
    )


def _credential_line(simulator: Mapping[str, str] | None) -> str:
    if simulator is None:
        return "Callers send the credentials for models with each call; --simulator provides some."
    return f"credentials for the simulator: {json.dumps(dict(simulator))}"

"""What `dify-host serve` says: where the server is, what it serves, how it is called, and what plugins complain about."""

import json
import sys
from collections.abc import Mapping
from typing import TextIO

from dify_plugin_host._daemon.server import DaemonServer
from dify_plugin_host._plugin.offers import Offer, offers
from dify_plugin_host._process.connection import Notice
from dify_plugin_packager.json_access import JsonObject

from .sample_calls import API_KEY, ROUTES, SampleCalls
from .screen import is_quiet, printable


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
    """What the server says, to people or to programs.

    Args:
        out: Where it says it.
        as_json: Whether programs read it.
        verbose: Whether all is said that plugins say, also what they complain of to nobody.
    """

    def __init__(self, out: TextIO, *, as_json: bool, verbose: bool) -> None:
        self._out = out
        self._as_json = as_json
        self._verbose = verbose

    def report_ready(
        self,
        server: DaemonServer,
        *,
        api_key: str | None,
        simulator: Mapping[str, str] | None,
        samples: SampleCalls,
    ) -> None:
        """Say where the server is, what it serves and how it is called.

        Args:
            server: The server, which runs.
            api_key: The key that callers must send; None if whoever calls has it already.
            simulator: The credentials for the simulator, if there is one.
            samples: Calls to copy.
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
        for sample in samples:
            lines += ["", *sample.to_shell(server.base_url)]
        self._say("\n".join(lines))

    def report_notice(self, notice: Notice) -> None:
        """Show what a plugin complains about, and which of its calls failed."""
        if is_quiet(notice) and not self._verbose:
            return
        text = printable(f"{notice.plugin}: {notice.level}: {notice.text}")
        if not self._as_json:
            self._say(text)
        elif notice.kind == "failed_call":
            # Many programs read no more of stdout than where the server is; a pipe that is full would stop it.
            print(text, file=sys.stderr, flush=True)  # noqa: T201 - for whoever looks after the program
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
    return f"{ROUTES[kind]}: {named}" if kind in ROUTES else f"{kind}: {named} (no route for these)"


def _credential_line(simulator: Mapping[str, str] | None) -> str:
    if simulator is None:
        return "Callers send the credentials for models with each call; --simulator provides some."
    return f"credentials for the simulator: {json.dumps(dict(simulator))}"

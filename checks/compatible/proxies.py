"""The gateways as programs, each in its own environment, before a fake upstream."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import httpx

from upstream import MODEL


KEY = "sk-of-the-gateway-1234"
_PATIENCE = 180  # seconds; LiteLLM imports for half a minute


def _litellm(place, port, upstream, **how):
    entry = {"model_name": MODEL, "litellm_params": {"api_base": upstream, "api_key": "k", **how}}
    config = place / "litellm.yaml"
    config.write_text(json.dumps({"model_list": [entry]}), encoding="utf-8")
    return ["litellm", "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]


def _native(place, port, upstream):
    return _litellm(place, port, upstream, model=f"openai/{MODEL}")


def _bridge(place, port, upstream):
    return _litellm(place, port, upstream, model=f"openai/{MODEL}", use_chat_completions_api=True)


def _smg(_place, port, upstream):
    worker = upstream.removesuffix("/v1")
    where = ("--host", "127.0.0.1", "--port", str(port), "--prometheus-port", str(find_port()))
    return ["smg", "launch", "--backend", "openai", "--worker-urls", worker, *where]


def _ogx(place, port, upstream):
    stores = {
        "conversations": {"table_name": "conversations", "backend": "sql"},
        "inference": {"table_name": "inference", "backend": "sql"},
        "metadata": {"namespace": "registry", "backend": "kv"},
        "prompts": {"table_name": "prompts", "backend": "sql"},
        "connectors": {"table_name": "connectors", "backend": "sql"},
    }
    kept = {"responses": {"table_name": "responses", "backend": "sql"}}
    files = {
        "storage_dir": str(place / "files"),
        "metadata_store": {"table_name": "files", "backend": "sql"},
    }
    vectors = {
        "persistence": {"namespace": "vectors", "backend": "kv"},
        "db_path": str(place / "v.db"),
    }
    upstream_config = {"base_url": upstream, "api_token": "k"}
    providers = {
        "inference": ("vllm", "remote::vllm", upstream_config),
        "responses": ("builtin", "inline::builtin", {"persistence": kept}),
        "files": ("local", "inline::localfs", files),
        "vector_io": ("sqlite-vec", "inline::sqlite-vec", vectors),
        "tool_runtime": ("mcp", "remote::model-context-protocol", {}),
        "file_processors": ("auto", "inline::auto", {}),
    }
    entries = {
        api: [{"provider_id": name, "provider_type": kind, "config": config}]
        for api, (name, kind, config) in providers.items()
    }
    model = {"model_id": MODEL, "provider_id": "vllm", "provider_model_id": MODEL}
    config = {
        "version": 2,
        "distro_name": "check",
        "apis": list(providers),
        "providers": entries,
        "storage": {
            "backends": {
                "kv": {"type": "kv_sqlite", "db_path": str(place / "kv.db")},
                "sql": {"type": "sql_sqlite", "db_path": str(place / "sql.db")},
            },
            "stores": stores,
        },
        "registered_resources": {"models": [{**model, "model_type": "llm", "metadata": {}}]},
        "server": {"port": port, "host": "127.0.0.1"},
    }
    path = place / "ogx.yaml"
    path.write_text(json.dumps(config), encoding="utf-8")
    return ["ogx", "run", str(path), "--insecure"]


@dataclass(frozen=True, slots=True)
class Proxy:
    """A gateway.

    Attributes:
        environment: The environment that it is installed in.
        command: Returns its command for a folder, a port and an upstream.
        asks_for_chat: Whether it asks its upstream for chat completions, and not for responses.
        model: The model as it names it.
    """

    environment: str
    command: Callable[[Path, int, str], list[str]]
    asks_for_chat: bool
    model: str = MODEL


PROXIES = {
    "litellm-native": Proxy("litellm", _native, asks_for_chat=False),
    "litellm-bridge": Proxy("litellm", _bridge, asks_for_chat=True),
    "ogx": Proxy("ogx", _ogx, asks_for_chat=True, model=f"vllm/{MODEL}"),
    "smg": Proxy("smg", _smg, asks_for_chat=False),
}
_TIKTOKEN = "litellm/litellm_core_utils/tokenizers"
_OWN = {
    "HF_HUB_OFFLINE": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MASTER_KEY": KEY,
    "NO_PROXY": "127.0.0.1",
}


def find_port():
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def run_proxy(name, environments, place, upstream):
    """Run a gateway; yield its base URL.

    Args:
        name: Its name in `PROXIES`.
        environments: The folder with the environments, as `nox -s compatible` makes it.
        place: A folder for its files.
        upstream: The base URL of the server behind it.
    """
    port = find_port()
    program, *options = PROXIES[name].command(place, port, upstream)
    # Which ogx would else load from a server of OpenAI's.
    [counts] = environments.glob(f"litellm/lib/*/site-packages/{_TIKTOKEN}")
    variables = {"HOME": str(place), "TIKTOKEN_CACHE_DIR": str(counts)}
    log = place / "log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            [environments / PROXIES[name].environment / "bin" / program, *options],
            cwd=place,
            env=os.environ | _OWN | variables,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}/v1"
            await_models(process, url, log)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def await_models(process, url, log):
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            listed = httpx.get(f"{url}/models", headers={"authorization": f"Bearer {KEY}"})
        except httpx.TransportError:
            listed = None
        if listed is not None and listed.is_success and listed.json().get("data"):
            return
        time.sleep(0.3)
    raise AssertionError(f"it does not answer: {log.read_text(errors='replace')[-3000:]}")

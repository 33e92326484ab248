"""Replays what was recorded with the real daemon against `dify-host serve`, and compares as `README.md` beside it rules."""

import contextlib
import functools
import http.client
import http.server
import itertools
import json
import re
import subprocess
import sys
import threading
import urllib.request
import uuid
from pathlib import Path

import yaml


HERE = Path(__file__).parent
PROBES = tuple(HERE / "probes" / name for name in ("probe_agent", "probe_model", "probe_tool"))
TENANT, OTHER_TENANT = (str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in "ab")
API_KEY = "rig-server-key"

# The tool that the recorded agents call: Dify answered with its arguments.
TOOLS = '''
import json


def slow(q: str) -> str:
    """A tool."""
    return json.dumps({"q": q})
'''
LISTED = ("declared", "asset", "tenant")
EXACT = ("handed", "chunk", "back", "http", "other", "tool", "manage", "slow", *LISTED)
BY_KEYS = ("http", "other", "tool", "manage")
_DECIMAL = re.compile(r"-?(0|[1-9]\d*)(\.\d*[1-9])?")
_MASKS = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID"),
    (r"\b[0-9a-f]{64}\b", "HEX64"),
    (r"\b[0-9a-f]{32}\b", "HEX32"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "TIME"),
    (r"(latency|started_at|finished_at|elapsed_time)(\\*\":) ?-?[0-9.e+-]+", r"\1\g<2>0"),
    (r"(traceback\\*\":) ?(\\*\")(?!\\*\").*?(?<!\\)\2(?=[,}])", r"\1\2TRACEBACK\2"),
    # The recorded Dify handed on a tool's arguments as they came; a real one adds its settings.
    (r"(, ?)?\\*\"ending\\*\": ?\\*\"space\\*\"", ""),
)


# What is answered otherwise, and why.
EXCEPTIONS = {
    "back/llm-provider-short": "the short name of a provider that is served means it; the recorded Dify"
    " took another model for every name that did not begin with `probe/`",
    "back/structured": "the recorded Dify answered this stream with a JSON object, which broke it",
    "back/upload_file": "the recorded Dify took no files; this host answers with a link",
    "llm/upstream-e403": "what a good key may not do is a refused request by now: Dify shows no text of the other error",
    "agent/model-string": "our agents' errors have come to bear the name of one that Dify shows without its JSON",
    "agent/tools-string": "as of agent/model-string",
    "llm/tool-message-no-id": "the model plugin has come to take tool messages without a call id",
}
# Errors of the SDK, which quote what it refuses: our plugins have come to say them in a sentence of their own.
SDK_ERRORS = {"AttributeError", "KeyError", "ValidationError", "ValueError"}
# What our plugins have come to leave out: tracebacks of errors, and in the log what Dify looks an icon up by.
LEFT_OUT = {"traceback", "provider"}


def name(exchange):
    """Return the name of a test's exchange."""
    return exchange["name"]


def replay(rig, exchange):
    """Make sure that an exchange is answered as it was recorded, or is known to be answered otherwise."""
    found = difference(exchange, rig.play(exchange))
    if exchange["name"] in EXCEPTIONS:
        assert found, "this exchange is no exception any more"
    else:
        assert found is None, found


def load(*groups):
    """Return the recorded exchanges of some groups."""
    return [each for each in _exchanges() if each["group"] in groups]


@functools.cache
def _exchanges():
    lines = (HERE / "exchanges.jsonl").read_text(encoding="utf-8").strip().split("\n")
    return [json.loads(line) for line in lines]


class Rig:
    """A running `dify-host serve` with the plugins, and what the placeholders of the recordings stand for."""

    def __init__(self, base_url, upstream, ids):
        self.base_url = base_url
        self.values = {"{tenant}": TENANT, "{other_tenant}": OTHER_TENANT, "{upstream}": upstream}
        self.values |= {"{storage}": "in-memory-storage", **ids}
        self.identifiers = self._find_identifiers()

    def _find_identifiers(self):
        """Return the unique identifiers of the probes by their placeholders; an answer has them masked."""
        url = f"{self.base_url}/plugin/{TENANT}/management/list?page=1&page_size=256"
        request = urllib.request.Request(url, headers={"X-Api-Key": API_KEY})
        with urllib.request.urlopen(request) as answer:
            listed = json.load(answer)["data"]["list"]
        return {f"{{{one['name']}}}": one["plugin_unique_identifier"] for one in listed}

    def play(self, exchange):
        """Send a recorded request; return what is answered, with the placeholders put back."""
        address = self.base_url.removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=90)
        with contextlib.closing(connection):
            body = exchange["body"]
            connection.request(
                exchange["method"],
                self._fill(exchange["path"]),
                None if body is None else self._fill(body).encode(),
                {name: self._fill(value) for name, value in exchange["headers"].items()},
            )
            response = connection.getresponse()
            text = response.read().decode()
        answer = {"status": response.status, "content_type": response.headers["content-type"]}
        if answer["content_type"] == "text/event-stream":
            frames = text.removesuffix("\n\n").split("\n\n") if text else []
            assert all(frame.startswith("data: ") for frame in frames), frames
            return {**answer, "frames": [self._mask(frame[6:]) for frame in frames]}
        return {**answer, "body_text": self._mask(text)}

    def _fill(self, text):
        text = text.replace('"provider": "desk"', '"provider": "host"')
        for name, value in {**self.identifiers, **self.values}.items():
            text = text.replace(name, value)
        return text

    def _mask(self, text):
        for name, value in self.values.items():
            text = text.replace(value, name)
        for pattern, mask in _MASKS:
            text = re.sub(pattern, mask, text)
        return text


@contextlib.contextmanager
def serving(folder, *plugins, options=()):
    """Run `dify-host serve` with plugins, `{A}` and `{B}` among them if they are there; yield the rig."""
    (folder / "tools.py").write_text(TOOLS)
    command = [Path(sys.executable).with_name("dify-host"), "serve", "--json", "--port", "0"]
    command += ["--api-key", API_KEY, "--tenant", TENANT]
    command += ["--tools", folder / "tools.py", *options]
    with upstream_server() as upstream:
        process = subprocess.Popen([*command, *plugins], stdout=subprocess.PIPE, text=True)
        with process:
            try:
                base_url = json.loads(process.stdout.readline())["base_url"]
                drain = threading.Thread(target=process.stdout.read)
                drain.start()
                yield Rig(base_url, upstream, _ids(plugins))
            finally:
                process.terminate()
        drain.join()


def _ids(plugins):
    found = {}
    for plugin in plugins:
        manifest = yaml.safe_load((Path(plugin) / "manifest.yaml").read_text(encoding="utf-8"))
        letter = {"openai_gpt5_responses": "{A}", "gpt5_agent_strategies": "{B}"}.get(
            manifest["name"]
        )
        if letter:
            found[letter] = f"{manifest['author']}/{manifest['name']}"
            found["{author}"] = manifest["author"]
    return found


@contextlib.contextmanager
def upstream_server():
    """Run the recorded scenarios of the Responses server; yield its base URL."""
    lines = (HERE / "upstream.jsonl").read_text(encoding="utf-8").strip().split("\n")
    scenarios = {each["name"].partition("/")[2]: each for each in map(json.loads, lines)}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            models = [{"id": "gpt-5.2", "object": "model", "created": 1, "owned_by": "x"}]
            self.reply(200, {"object": "list", "data": models})

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            scenario = scenarios[self.path.split("/")[1]]
            if "by_outputs" in scenario:
                outputs = [
                    each
                    for each in request["input"]
                    if isinstance(each, dict) and each.get("type") == "function_call_output"
                ]
                steps = scenario["by_outputs"]
                scenario = steps[min(len(outputs), len(steps) - 1)]
            if "status" in scenario:
                self.reply(scenario["status"], scenario["body"], scenario["headers"])
            elif request.get("stream"):
                self.reply(200, scenario["sse"], {"content-type": "text/event-stream"})
            else:
                self.reply(200, scenario["json"])

        def reply(self, status, content, headers=()):
            body = (content if isinstance(content, str) else json.dumps(content)).encode()
            given = {"content-type": "application/json", "x-request-id": "req_rig", **dict(headers)}
            self.send_response(status)
            for name, value in {**given, "content-length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def difference(exchange, answer):
    """Return the first difference between what was recorded and an answer; None if they agree."""
    view = _meaning if exchange["group"] in EXACT else _shape
    told = "".join([exchange.get("body_text") or "", *(exchange.get("frames") or ())])
    if exchange["group"] in BY_KEYS and '"code":-' not in told:
        view = _shape
    if exchange["group"] == "agent" and answer.get("frames"):
        answer = {**answer, "frames": [*filter(_was_known, answer["frames"])]}
    if exchange["group"] == "back":
        answer = {**answer, "frames": [_as_dify_answered(frame) for frame in answer["frames"]]}
    for key in ("status", "content_type"):
        if answer[key] != exchange[key]:
            return key, exchange[key], answer[key]
    if exchange.get("body_text") is not None:
        wanted, got = view([exchange["body_text"]]), view([answer["body_text"]])
    else:
        wanted, got = view(exchange["frames"]), view(answer["frames"])
    for first, second in itertools.zip_longest(wanted, got):
        if first != second and not _is_told_by_the_plugin(first, second):
            return "frames", first, second
    return None


def _was_known(frame):
    """Return whether a frame is of a kind that our agents had when they were recorded: they have come to send their answer as a variable, too."""
    return (json.loads(frame).get("data") or {}).get("type") != "variable"


def _is_told_by_the_plugin(recorded, answered):
    around = _around_sentence(recorded)
    return around is not None and around == _around_sentence(answered)


def _around_sentence(frame):
    """Return all of a frame with an error of the SDK but its sentence."""
    match frame:
        case {"message": ("json", {"message": ("json", {"message": _, **error}), **said}), **rest}:
            return (rest, said, error) if error["error_type"] in SDK_ERRORS else None
    return None


def _as_dify_answered(frame):
    """Put the arguments of a tool, which the recorded Dify answered with, in the place of the request, which this host's tool echoes."""
    if "invoke_tool" not in frame:
        return frame
    envelope = json.loads(frame)
    reply = json.loads(envelope["data"]["message"]["text"])
    content = reply["data"]["data"]["message"]
    content["text"] = json.dumps(json.loads(content["text"])["data"]["tool_parameters"])
    envelope["data"]["message"]["text"] = json.dumps(reply)
    return json.dumps(envelope)


class Number(str):
    """A number as it was written."""

    __slots__ = ()


def _decode(text):
    try:
        return json.loads(text, parse_int=Number, parse_float=Number)
    except ValueError:
        return text


def _nested(value):
    """Decode JSON that stands in texts, as it does in errors."""
    match value:
        case Number():
            return ("number", str(value))
        case str() if value[:1] in ("{", "["):
            found = _decode(value)
            return ("json", _nested(found)) if not isinstance(found, str) else value
        case dict():
            left_out = LEFT_OUT if value.keys() & {"traceback", "started_at"} else set()
            if value.get("use_template"):
                left_out = {"help"}  # prose of the daemon's authors, which we do not copy
            return {key: _nested(item) for key, item in value.items() if key not in left_out}
        case list():
            return [_nested(item) for item in value]
    return value


def _meaning(texts):
    return [_nested(_decode(text)) for text in texts]


def _shape(texts):
    """Leave what the platform decides: order and kind of frames, nesting, keys, how numbers are written."""
    shapes = [_outline(frame) for frame in _meaning(texts)]
    return [shape for shape, _ in itertools.groupby(shapes)]


def _outline(value, key=""):
    match value:
        case ("number", str(text)):
            return "float" if set(text) & set(".e") else "int"
        case ("json", inner):
            return "json", _outline(inner)
        case dict():
            free = key in {"opaque_body", "args", "output", "data"} and "delta" not in value
            kept = {name: _outline(item, name) for name, item in value.items()}
            return "object" if free and "type" not in value else kept
        case list():
            return sorted({json.dumps(_outline(item, key)) for item in value})
    return _outline_text(value, key) if isinstance(value, str) else value


def _outline_text(text, key):
    if key in {"type", "role", "status", "finish_reason", "currency", "error_type"}:
        return text
    if key.endswith(("price", "price_unit")) and _DECIMAL.fullmatch(text):
        return "decimal"
    return text if key.endswith(("price", "price_unit")) else "text"

"""`dify-host debug --dify`: a plugin that a running Dify calls. The daemon's side of the connection is played by these tests."""

import contextlib
import json
import os
import signal
import socket

import pytest


KEY = "key-of-the-workspace"
AUTHOR = "a" * 62
# What the SDK does of remote debugging: it tells all of itself, then answers requests, and connects again if it is cut off.
SPEAKS = """
import contextlib, json, socket

def declare(lines):
    label = {"en_US": "Words", "ja_JP": ""}
    def send(kind, data):
        lines.write(json.dumps({"type": kind, "data": data}).encode() + b"\\n\\n")
    send("handshake", {"key": os.environ.get("REMOTE_INSTALL_KEY", "from .env")})
    send("manifest_declaration", {"author": AUTHOR, "name": "scripted", "label": dict(label)})
    send("tool_declaration", [{"identity": {"author": AUTHOR, "label": dict(label)}}])
    send("model_declaration", [{"provider": "p", "label": dict(label)}])
    send("endpoint_declaration", [{"settings": []}])
    send("asset_chunk", {"filename": "icon.svg", "data": "AA==", "end": True})
    send("end", {})
    lines.flush()

def log(level, message):
    print(json.dumps({"event": "log", "data": {"level": level, "message": message}}), flush=True)

print("a print\\n", flush=True)
print("written to stderr", file=sys.stderr, flush=True)
log("INFO", "Received event: the credentials" + " and a file" * 500_000)
log("INFO", "as usual")
log("ERROR", "sk-proj-1234567890 is wrong")
assert os.environ["INSTALL_METHOD"] == "remote"
while True:
    host, port = os.environ["REMOTE_INSTALL_URL"].split(":")
    asked = 0
    with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as connection:
        lines = connection.makefile("rwb")
        declare(lines)
        for asked, request in enumerate(lines, 1):
            lines.write(json.dumps({"event": "session", "data": json.loads(request)}).encode() + b"\\n")
            lines.flush()
    if not asked:
        sys.exit("nobody asks")
    log("WARNING", "cut off")
""".replace("AUTHOR", repr(AUTHOR))


@pytest.fixture(scope="module")
def scripted(make_shared_plugin):
    return make_shared_plugin(SPEAKS, author=AUTHOR, plugins={"tools": [], "models": ["p.yaml"]})


@pytest.fixture
def daemon():
    """The port at which plugins are debugged."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(120)
        yield listener


@pytest.fixture
def debug(dify_host, scripted, monkeypatch, meanwhile):
    """Debug the plugin, and do something meanwhile; return exit code, stdout, stderr, and what that returned."""
    monkeypatch.setenv("REMOTE_INSTALL_KEY", KEY)

    def run(address, *options, act=lambda: None, plugin=scripted):
        acting = meanwhile(act)
        told = dify_host("debug", plugin, "--dify", address, "--port", 0, *options)
        return *told, acting.result()

    return run


def address_of(listener):
    return f"127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def plugin_of(listener):
    """Take a connection of the plugin; yield what it has declared, by type, and its lines."""
    connection, _ = listener.accept()
    with connection, connection.makefile("rwb") as lines:
        declared = {}
        while "end" not in declared:
            if text := lines.readline().strip():
                message = json.loads(text)
                declared[message["type"]] = message["data"]
        yield declared, lines


def ask(lines, request):
    lines.write(json.dumps(request).encode() + b"\n")
    lines.flush()
    return next_of(lines, "session")["data"]


def next_of(lines, event):
    for line in lines:
        if line.strip() and (message := json.loads(line))["event"] == event:
            return message
    raise AssertionError(event)


def test_dify_gets_the_plugin_under_another_author_and_calls_it(debug, daemon, monkeypatch):
    # The plugin sends no heartbeat at all, like one that stands at a breakpoint.
    monkeypatch.setenv("HEARTBEAT_INTERVAL", "0.01")

    def act():
        with contextlib.ExitStack() as ending:
            ending.callback(os.kill, os.getpid(), signal.SIGTERM)
            with plugin_of(daemon) as (declared, lines):
                answers = [ask(lines, {"number": number}) for number in range(3)]
                next_of(lines, "heartbeat")
            # Cut off, it comes again, and tells the same.
            with plugin_of(daemon) as (again, lines):
                answers.append(ask(lines, {"number": 3}))
                ending.close()
                assert all(b"heartbeat" in line or not line.strip() for line in lines)
            return declared, again, answers

    code, out, err, (declared, again, answers) = debug(address_of(daemon), "--verbose", act=act)
    assert code == 143
    marked = {"en_US": "Words (debug)", "ja_JP": ""}
    assert declared == again
    assert declared["handshake"] == {"key": KEY}
    author = f"{'a' * 58}-debug"
    assert declared["manifest_declaration"] == {
        "author": author,
        "name": "scripted",
        "label": marked,
    }
    assert declared["tool_declaration"] == [{"identity": {"author": AUTHOR, "label": marked}}]
    assert declared["model_declaration"] == [{"provider": "p", "label": marked}]
    assert declared["asset_chunk"] == {"filename": "icon.svg", "data": "AA==", "end": True}
    assert answers == [{"number": number} for number in range(4)]
    assert f"as {author}/scripted" in out
    assert f"{AUTHOR}/scripted stays there unchanged" in out
    assert "1. give it its keys" in out
    assert f"2. choose it in the node or the app instead of {AUTHOR}/scripted" in out
    shown = [line.removeprefix("scripted: ") for line in err.splitlines()]
    assert shown[0].startswith("WARNING: a debugger can attach to 127.0.0.1:")
    assert {"Dify has it now", "INFO: as usual", "INFO: written to stderr", "WARNING: a print"} < {
        *shown
    }
    assert "ERROR: sk-[redacted] is wrong" in shown
    assert shown.count("WARNING: cut off") == 1
    assert KEY not in out + err
    assert "credentials" not in err


def test_a_plugin_that_finds_no_daemon_any_more_ends_and_shows_its_last_words(
    debug, daemon, scripted, monkeypatch
):
    monkeypatch.delenv("REMOTE_INSTALL_KEY")
    monkeypatch.setenv("HEARTBEAT_INTERVAL", "often")
    (scripted / ".env").touch()

    def act():
        with plugin_of(daemon) as (declared, lines):
            daemon.close()
            ask(lines, {})
            return declared["handshake"]

    code, _, err, handshake = debug(address_of(daemon), act=act)
    (scripted / ".env").unlink()
    assert (code, handshake) == (1, {"key": "from .env"})
    assert "'scripted' ended with exit code 1; its stderr ends with: nobody asks" in err
    assert "as usual" not in err
    assert "INFO: written to stderr" not in err


def test_the_daemons_reason_for_a_refusal_is_told(debug, daemon):
    def act():
        with plugin_of(daemon) as (_, lines):
            lines.write(b"handshake failed, invalid key\n")

    address = address_of(daemon)
    code, _, err, _ = debug(f"http://{address}", act=act)
    assert code == 1
    assert (
        f"error: the daemon at {address} refuses the plugin: handshake failed, invalid key" in err
    )


def test_a_daemon_that_is_not_there_is_told_and_a_strategy_needs_no_keys(
    debug, make_plugin, free_port
):
    folder = make_plugin(SPEAKS, plugins={"agent_strategies": ["p.yaml"]})
    code, out, err, _ = debug(f"[::1]:{free_port}", plugin=folder)
    assert code == 1
    assert f"error: the daemon at [::1]:{free_port} cannot be reached: " in err
    assert "1. choose it in the node or the app instead of tests/scripted" in out
    assert "keys" not in out


@pytest.mark.parametrize(
    ("address", "options", "problem"),
    [
        (":5003", [], "parameter '--dify': expected HOST:5003, as Dify shows it, got ':5003'"),
        ("h:port", [], "parameter '--dify': expected HOST:5003"),
        ("h:5003", ["words"], "Invalid value for NAME: expected either this or --dify, not both"),
        ("h:5003", ["--with", "x"], "Invalid value for --with: expected either this or --dify"),
        ("h:5003", ["--json"], "Invalid value for --json: expected either this or --dify"),
    ],
)
def test_what_has_no_meaning_there_is_refused(debug, address, options, problem):
    code, out, err, _ = debug(address, *options)
    assert (code, out) == (2, "")
    assert problem in " ".join(err.replace("│", " ").split())


def test_without_a_key_the_variable_is_named(debug, monkeypatch):
    monkeypatch.setenv("REMOTE_INSTALL_KEY", "")
    code, out, err, _ = debug("h")
    assert (code, out) == (2, "")
    assert "'REMOTE_INSTALL_KEY': expected the key that Dify shows for debugging" in err

"""A server that does what no server should, over standard input and output. Its arguments say what."""

import json
import os
import signal
import sys
import time


OBJECT: dict[str, object] = {"type": "object"}


def path(text: str):
    import pathlib  # noqa: PLC0415 - slow to load, and needed by few of the many processes

    return pathlib.Path(text)


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def tool(name: str, schema: dict[str, object] = OBJECT, **members: object) -> dict[str, object]:
    return {"name": name, "inputSchema": schema} | members


def nested(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {}
    for _ in range(levels):
        schema = {"properties": {"a": schema}}
    return schema | OBJECT


def doubled(levels: int) -> dict[str, object]:
    parts: dict[str, object] = {
        f"L{level}": {"anyOf": [{"$ref": f"#/$defs/L{level + 1}"}] * 2} for level in range(levels)
    }
    parts[f"L{levels}"] = {"type": "string"}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/L0"}}, "$defs": parts}


WILD = {
    "properties": {
        "a": {"type": "array"},
        "b": {"type": "any", "description": None},
        "c": {"minimum": 1, "exclusiveMinimum": True},
        "d": {"$ref": "https://example.com/elsewhere.json"},
        "e": {"type": "string", "nullable": True, "pattern": "^(?!x)"},
        "f": True,
    },
    "required": ["a"],
    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    "id": "a b",
}


MODERN: dict[str, object] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def list_tools(how: str, cursor: str | None) -> dict[str, object]:  # noqa: C901, PLR0911 - as many ways
    match how:
        case "many-tools":
            return {"tools": [tool(f"t{number}") for number in range(1_001)]}
        case "many-pages":
            return {"tools": [], "nextCursor": f"{cursor}x"}
        case "no-names":
            return {"tools": [], "x": [[]] * 200_000}
        case "long-list":
            return {"tools": [tool("t", description="x" * 17_000_000)]}
        case "schemas":
            everything = {"type": "string", "pattern": "(a+)+$"}
            return {
                "tools": [
                    tool("doubled", doubled(40)),
                    tool("elsewhere", {"$ref": "http://127.0.0.1:1/schema", **OBJECT}),
                    tool("good", outputSchema=doubled(40)),
                    tool("large", {"description": "x" * 200_000, **OBJECT}),
                    tool("deep", nested(150), title="name"),
                    tool("nested", nested(60)),
                    tool("patterns", {"properties": {"a": everything}, **OBJECT}),
                    tool("quoting", {"description": "the end", **OBJECT}),
                    tool("talkative", description="x" * 1_000_000),
                    {"title": "x", "inputSchema": {"enum": [[]] * 200_000}, "name": "v\u00e9"},
                ]
            }
        case "shapes":
            return {
                "tools": [
                    tool("t"),
                    tool("empty", {}),
                    tool("untyped", {"properties": {"a": {"type": "string"}}}),
                    tool("typed_twice", {"type": ["object", "null"]}),
                    tool("listed", {"type": "object", "properties": []}),
                    {"name": "anything", "inputSchema": True},
                    tool("wild", WILD),
                    tool("text", {"type": "string"}),
                    {"name": "number", "inputSchema": 7},
                ]
            }
        case "no-list":
            return {"tools": 3}
        case "odd":
            properties: dict[str, object] = {"a": {"type": "string"}, "b": 3}
            return {
                "tools": [
                    3,
                    tool(""),
                    tool("t", title=3, description=["x"], icons="x", annotations=[], _meta=3),
                    {"name": 3, "inputSchema": OBJECT},
                    tool("required", OBJECT | {"required": True, "$schema": 4}),
                    tool("properties", OBJECT | {"properties": properties}),
                ],
                "nextCursor": "",
            }
        case "modern":
            header = {"type": "string", "x-mcp-header": "Place"}
            nowhere = {"type": "string", "x-mcp-header": "no header"}
            return MODERN | {
                "tools": [
                    tool("t", OBJECT | {"properties": {"a": header}}),
                    tool("misplaced", OBJECT | {"properties": {"a": nowhere}}),
                ]
            }
        case "twins":
            return {"tools": [tool("a.b"), tool("a_b"), tool("a b", title="Twin"), tool("l" * 99)]}
        case "secrets":
            secret = os.environ["MY_TOKEN"]
            schema = {"type": "object", "properties": {"a": {"description": f"is {secret}"}}}
            return {"tools": [tool("t", schema, description=f"Knows {secret}.")]}
        case _:
            return {"tools": [tool("t")]}


def call(how: str, number: object, *more: str) -> dict[str, object] | None:  # noqa: C901, PLR0911, PLR0912, PLR0915 - as many ways
    text: dict[str, object] = {"type": "text", "text": "done"}
    match how:
        case "end-once" if not (ended := path(more[0])).exists():
            ended.touch()
            os._exit(3)
        case "end-once":
            return call("environment", number)
        case "endless-line":
            while True:
                sys.stdout.write("x" * 1_000_000)
        case "flood":
            while True:
                send({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        case "lines":
            while True:
                sys.stdout.write("no JSON\n")
        case "environment":
            told = "\n".join(f"{name}={value}" for name, value in os.environ.items())
            return {"content": [{"type": "text", "text": told}]}
        case "loud":
            sys.stderr.write("x" * 6_000_000)
        case "hang":
            for note in more:
                path(note).touch()
            while True:
                time.sleep(1)
        case "large":
            return {"content": [{"type": "text", "text": "x" * 1_000_000}]}
        case "kinds":
            data = {"mimeType": "audio/wav", "data": "AAAA"}
            resource: dict[str, object] = {"uri": "file:///folder/a.pdf", "blob": "AAAA"}
            return {
                "content": [
                    text,
                    {"type": "audio", **data},
                    {"type": "image", "mimeType": "image/svg+xml", "data": "AAAA"},
                    {"type": "resource_link", "name": "page", "uri": "https://x.example/a"},
                    {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "A text."}},
                    {"type": "resource", "resource": resource | {"mimeType": "application/pdf"}},
                    {"type": "resource", "resource": resource},
                ],
                "structuredContent": {"a": 1},
            }
        case "wrapped":
            return {"content": [text], "structuredContent": {"content": "done"}}
        case "half":
            return {"content": [{"type": "text", "text": "half: \ud83d"}]}
        case "unreadable":
            send({"id": number, "result": float("nan")})
            return None
        case "huge":
            begin = (
                '{"jsonrpc": "2.0", "id": ID, "result": {"content": [{"type": "text", "text": "é'
            )
            text, times = more
            sys.stdout.write(begin.replace("ID", str(number)) + "x" * 6_000_000)
            sys.stdout.write(text * int(times) + '"}]}}\n')
            sys.stdout.flush()
            return None
        case "raw":
            sys.stdout.buffer.write(more[0].replace("ID", str(number)).encode("latin-1") + b"\n")
            sys.stdout.flush()
            return None
        case "answers-to-nobody":
            while True:
                send({"id": 7_000_000, "result": {}})
        case "progress":
            for step in range(14):
                time.sleep(float(more[0]))
                send(
                    {
                        "method": "notifications/progress",
                        "params": {"progressToken": number, "progress": step},
                    }
                )
        case "unreadable-question":
            sys.stdout.write('{"method": "a", "id": 7, "params": NaN}\n[]\n"\\ud83d"\n')
        case "nonsense":
            return {"content": 3}
        case "bare-failure":
            return {"content": [], "isError": True}
        case "changes":
            send({"method": "notifications/tools/list_changed"})
            send({"method": "notifications/tools/list_changed"})
        case "secrets":
            secret = os.environ["MY_TOKEN"]
            text = {"type": "text", "text": f"It is {secret}: {json.dumps(secret)}"}
            return {"content": [text], "structuredContent": {"token": secret}, "isError": True}
        case "error":
            secret = os.environ["MY_TOKEN"]
            send({"id": number, "error": {"code": -1, "message": f"No, {secret}" + "x" * 5_000}})
            return None
        case _:
            pass
    return {"content": [text]}


def main(how: str, *more: str) -> None:  # noqa: C901, PLR0912 - as many ways
    match how:
        case "no-start":
            sys.stderr.write(f"cannot start without {os.environ.get('MY_TOKEN')}")
            sys.exit(1)
        case "silent":
            time.sleep(600)
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            import subprocess  # noqa: PLC0415 - as above

            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            with path(more[0]).open("w", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {child.pid}")
        case _:
            pass
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["method"]:
            case "initialize":
                result = {
                    "protocolVersion": asked["params"]["protocolVersion"],
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "hostile", "version": "1"},
                }
                send({"id": asked["id"], "result": {} if how == "no-mcp" else result})
            case "server/discover" if how == "modern":
                versions = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                send({"id": asked["id"], "result": MODERN | versions})
            case "tools/call" if how == "modern":
                rounds = int(asked["params"].get("requestState", "0")) + 1
                result = MODERN | {"content": [{"type": "text", "text": f"{rounds} rounds"}]}
                if rounds <= int(more[0]):
                    result = {"resultType": "input_required", "requestState": str(rounds)}
                send({"id": asked["id"], "result": result})
            case "tools/list":
                cursor = asked.get("params", {}).get("cursor")
                if how == "deaf":  # Before the answer, so that the call finds it closed.
                    os.close(0)
                send({"id": asked["id"], "result": list_tools(how, cursor)})
                if how == "deaf":
                    time.sleep(600)
            case "tools/call":
                if (result := call(how, asked["id"], *more)) is not None:
                    send({"id": asked["id"], "result": result})
            case method if "id" in asked:
                send({"id": asked["id"], "error": {"code": -32601, "message": method}})
            case _:
                pass
    while how == "stubborn":
        time.sleep(1)


main(*sys.argv[1:])

"""Images and files that a server does not take.

The request is sent once more with those of tools in a user's message, then with a sentence for each.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from wire import Wire, body_of, whole

import gpt5_responses
from gpt5_responses import InvalidRequestError, ResponsesError, ResponseStream, Transport, create


TABLE = Path(gpt5_responses.__file__).parent / "_calls" / "unread_media.toml"
WORDS = tomllib.loads(TABLE.read_text("utf-8"))
SAID = [
    pytest.param(row["about"], text, id=f"{who}: {text[:30]}")
    for row in WORDS["refusals"]
    for who, text in row["said"]
]
OTHER = [text for row in WORDS["other"] for _, text in row["said"]]
ANSWER = {"status": "completed", "output": [{"type": "message", "content": []}]}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"}
FILE = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}
NO_IMAGE = "[image omitted: this server does not take it]"
NO_FILE = '[file "a.pdf" omitted: this server does not take it]'


def text(said: str) -> dict[str, Any]:
    return {"type": "input_text", "text": said}


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": list(parts)}


def call(call_id: str, name: str = "look") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": "{}"}


def result(call_id: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": list(parts)}


ASKED = [user(text("Go")), call("c1"), result("c1", text("Seen:"), IMAGE, FILE)]
MOVED = user(text("This came with the result of look above:"), IMAGE, FILE)


def parts_of(body: Mapping[str, Any], place: str) -> Iterator[str]:
    for item in body["input"]:
        if isinstance(item.get(place), list):
            yield from (part["type"] for part in item[place])


def of_tools(body: Mapping[str, Any]) -> bool:
    return "input_image" in parts_of(body, "output") or "input_file" in parts_of(body, "output")


def of_kind(kind: str) -> Callable[[Mapping[str, Any]], bool]:
    return lambda body: any(kind in parts_of(body, place) for place in ("content", "output"))


REFUSES = {
    "shape": of_tools,
    "text": of_tools,
    "results": of_tools,
    "image": of_kind("input_image"),
    "file": of_kind("input_file"),
}


class Unseeing(Wire):
    """A server that refuses what a function of the body says, in the words of its instructions."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.asked: list[dict[str, Any]] = []
        self.refuses: Callable[[Mapping[str, Any]], bool] = of_tools

    def _reply(self, peer: Any) -> None:
        body = body_of(self.requests[-1])
        self.asked.append(body)
        if self.refuses(body):
            error = {"error": {"message": body["instructions"], "param": "input"}}
            return whole(json.dumps(error).encode(), "400 Bad Request")(peer)
        return whole(json.dumps(ANSWER).encode())(peer)

    def inputs(self) -> list[Any]:
        return [body["input"] for body in self.asked]


@pytest.fixture
def server() -> Iterator[Unseeing]:
    with Unseeing() as running:
        yield running


def asking(said: str, items: list[dict[str, Any]] = ASKED, model: str = "a") -> dict[str, Any]:
    return {"model": model, "instructions": said, "input": items, "stream": False}


@pytest.mark.parametrize(("about", "said"), SAID)
def test_what_a_server_does_not_take_goes_behind_the_results_and_then_is_told(
    about: str, said: str, server: Unseeing, transport: Transport
) -> None:
    server.refuses = REFUSES[about]
    stream = ResponseStream(server.connection(), asking(said), transport=transport)
    list(stream)

    first, moved, *rest = server.inputs()
    assert first == ASKED
    assert moved == [*ASKED[:2], {**ASKED[2], "output": "Seen:"}, MOVED]
    told = {"image": [text(NO_IMAGE), FILE], "file": [IMAGE, text(NO_FILE)]}
    if about in ("results", "text", "shape"):
        assert not rest
        assert stream.left_out == ("without_result_media",)
    else:
        assert rest == [[*moved[:3], user(MOVED["content"][0], *told[about])]]
        assert stream.left_out == ("without_result_media", f"without_{about}s")


@pytest.mark.parametrize("said", OTHER)
def test_a_refusal_of_something_else_stands(
    said: str, server: Unseeing, transport: Transport
) -> None:
    server.refuses = lambda _: True
    with pytest.raises(ResponsesError):
        create(server.connection(), asking(said), transport=transport)

    assert len(server.asked) == 1


@pytest.mark.parametrize("about", REFUSES)
def test_a_request_without_images_and_files_has_nothing_to_leave_out(
    about: str, server: Unseeing, transport: Transport
) -> None:
    said = next(row["said"][0][1] for row in WORDS["refusals"] if row["about"] == about)
    server.refuses = lambda _: True
    for items in ([user(text("Go"))], "Go"):
        with pytest.raises(InvalidRequestError):
            create(server.connection(), asking(said) | {"input": items}, transport=transport)

    assert len(server.asked) == 2


def test_they_stand_behind_all_results_of_their_round_and_each_request_extends_the_one_before(
    server: Unseeing, transport: Transport
) -> None:
    said = "output of type string"
    once = [user(text("Go")), call("a"), call("b", "draw"), result("a", IMAGE), result("b", FILE)]
    answered = {"type": "message", "role": "assistant", "content": "So."}
    for items in (once, [*once, answered, call("c"), result("c", text("x")), user(text("And?"))]):
        create(server.connection(), asking(said, items), transport=transport)

    _, first, second = server.inputs()
    assert first[3:] == [
        {**result("a"), "output": "(what follows below)"},
        {**result("b"), "output": "(what follows below)"},
        user(text("This came with the result of look above:"), IMAGE),
        user(text("This came with the result of draw above:"), FILE),
    ]
    assert second[: len(first)] == first


def test_what_a_server_takes_from_no_tool_is_remembered_for_all_models_and_the_rest_for_one(
    server: Unseeing, transport: Transport
) -> None:
    create(server.connection(), asking("output of type string"), transport=transport)
    create(server.connection(), asking("", model="b"), transport=transport)
    assert [of_tools(body) for body in server.asked] == [True, False, False]

    server.asked.clear()
    server.refuses = of_kind("input_image")
    for model in ("blind", "blind", "seeing"):
        said = "No endpoints found that support image input"
        request = asking(said, [user(text("What is it?"), IMAGE)], model)
        create(server.connection(), request, transport=transport)

    sent = [(body["model"], of_kind("input_image")(body)) for body in server.asked]
    assert sent == [
        *(("blind", True), ("blind", False), ("blind", False)),
        *(("seeing", True), ("seeing", False)),
    ]


def test_where_a_server_only_knows_no_such_shape_what_helped_last_is_remembered(
    server: Unseeing, transport: Transport
) -> None:
    thought = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
    thoughtful = [*ASKED[:1], thought, *ASKED[1:]]
    server.refuses = of_kind("input_file")
    for _ in "ab":
        request = asking("input: Invalid input", thoughtful)
        create(server.connection(), request, transport=transport)

    sent = [
        (len(body["input"]), of_tools(body), of_kind("input_file")(body)) for body in server.asked
    ]
    without_thought = [(4, True, True), (3, True, True)]
    assert sent[:4] == [*without_thought, (4, False, True), (4, False, False)]
    assert sent[4:] == [(4, True, False)]  # the last helped: files are left out, and nothing else


def test_where_only_a_text_is_taken_images_and_files_of_messages_are_told_too(
    server: Unseeing, transport: Transport
) -> None:
    server.refuses = lambda body: of_kind("input_image")(body) or of_kind("input_file")(body)
    stream = ResponseStream(
        server.connection(), asking("message[4].content must be a string"), transport=transport
    )
    list(stream)

    assert stream.left_out == ("without_result_media", "without_images", "without_files")
    assert server.inputs()[-1][3]["content"][1:] == [text(NO_IMAGE), text(NO_FILE)]


def test_what_did_not_help_is_told_and_not_remembered(
    server: Unseeing, transport: Transport
) -> None:
    server.refuses = lambda _: True
    for _ in range(2):
        with pytest.raises(InvalidRequestError, match="without images and files in the results"):
            create(server.connection(), asking("output of type string"), transport=transport)

    assert [of_tools(body) for body in server.asked] == [True, False] * 2


def test_for_openai_images_stay_where_they_are(server: Unseeing, transport: Transport) -> None:
    connection = server.connection(compatibility="openai")
    with pytest.raises(InvalidRequestError):
        create(connection, asking("image input is not supported"), transport=transport)

    assert len(server.asked) == 1

"""What tools did that the server runs: recorded, and as servers might send it."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counting import is_linear
from gpt5_messages import (
    ApprovalRequest,
    Completion,
    HostedCall,
    HostedProgress,
    ItemDone,
    MadeFile,
    Source,
    SSEDecoder,
    StreamDecoder,
    StreamEvent,
    ToolUsage,
    UnknownEvent,
    build_input,
    read_response,
    render_addendum,
    render_sources,
    without_addenda,
)


FOLDER = Path(__file__).parent / "recordings"
RECORDINGS = sorted(
    path for path in FOLDER.iterdir() if path.name.endswith((".sse", ".response.json"))
)
TOLD = {
    "mcp_list_tools": lambda call: {
        "server_label": call.name,
        "tools": call.output.splitlines(),
    },
    "mcp_call": lambda call: {
        "name": call.name.partition(".")[2],
        "server_label": call.name.partition(".")[0],
        "arguments": call.input,
        "output_len": len(call.output),
    },
    "code_interpreter_call": lambda call: {"code": call.input},
    "file_search_call": lambda call: {"queries": call.input.splitlines()},
    "tool_search_call": lambda call: {"arguments": json.loads(call.input)},
    "apply_patch_call": lambda call: {"operation": json.loads(call.input)},
    "computer_call": lambda call: {"action": json.loads(call.input)},
    "shell_call": lambda call: {"action": json.loads(call.input)},
}


def read(path: Path) -> Completion:
    data = path.read_bytes()
    if path.suffix == ".json":
        return read_response(json.loads(data))
    frames, decoder = SSEDecoder(), StreamDecoder()
    for event in frames.feed(data):
        decoder.feed(event)
    return decoder.completion


def truth_of(path: Path) -> dict[str, Any]:
    name = path.name.removesuffix(".sse").removesuffix(".response.json")
    return json.loads((FOLDER / f"{name}.expected.json").read_text(encoding="utf-8"))


def completed(*output: dict[str, Any], **fields: object) -> Completion:
    return read_response({"status": "completed", "output": list(output), **fields})


def message(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "role": "assistant", "content": [part]}


def cited(url: str | None, title: str | None = "T", start: int = 0, end: int = 0) -> dict[str, Any]:
    place = {"start_index": start, "end_index": end}
    return {"type": "url_citation", "url": url, "title": title, **place}


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_a_recording_reads_as_the_official_sdk_reads_it(recording: Path) -> None:
    truth, completion = truth_of(recording), read(recording)

    assert completion.text == truth["text"]
    assert [item["type"] for item in completion.items] == truth["item_order"]
    assert completion.status == truth["status"]
    assert completion.usage is not None
    assert completion.usage.total_tokens == truth["usage"]["total_tokens"]
    calls = [(call.call_id, call.name) for call in completion.tool_calls if call.type == "function"]
    expected = [(call["call_id"], call["name"]) for call in truth["function_calls"]]
    assert calls == (expected if truth["status"] == "completed" else [])


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_the_tools_of_a_recording_are_told_as_the_official_sdk_has_them(recording: Path) -> None:
    completion = read(recording)
    left = list(completion.hosted_calls)

    for told in truth_of(recording).get("extra", []):
        if told.get("type") in TOLD:
            call = next(call for call in left if call.type == told["type"])
            left.remove(call)
            actual = TOLD[call.type](call)
            assert actual.items() >= {key: told[key] for key in actual}.items()
            assert call.status == "completed"


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_the_citations_of_a_recording_stand_where_the_official_sdk_has_them(
    recording: Path,
) -> None:
    told = [
        annotation
        for extra in truth_of(recording).get("extra", [])
        for annotation in extra.get("annotations", [])
    ]
    citations = read(recording).citations

    assert [(found.type, found.url, found.title, found.file_id) for found in citations] == [
        (one["type"], one.get("url"), one.get("title"), one.get("file_id")) for one in told
    ]
    assert all(found.url in found.cited_text for found in citations if found.url)


def test_a_recorded_call_that_waits_for_leave_is_told_and_not_made() -> None:
    completion = read(FOLDER / "mcp_approval_request.response.json")

    (request,) = completion.approval_requests
    assert (request.server_label, request.name) == ("dmcp", "roll")
    assert json.loads(request.arguments) == {"diceRollExpression": "2d4+1"}
    assert request.item_id.startswith("mcpr_")
    assert completion.tool_calls == ()
    assert [call.type for call in completion.hosted_calls] == ["mcp_list_tools"]


@pytest.mark.parametrize(
    ("text", "url", "is_linked"),
    [
        ("See [a](https://a.org/x).", "https://a.org/x", True),
        ("See https://a.org/x.", "https://a.org/x", True),
        ("See https://a.org/x", "https://a.org/x?utm_source=openai", True),
        ("[a](https://a.org/x?utm_source=openai)", "https://a.org/x", True),
        ("[a](https://a.org/x?q=1&utm_source=openai)", "https://a.org/x?q=1", True),
        ("[a](https://a.org/x_(y)), or so", "https://a.org/x_(y)", True),
        ("**https://a.org/x**", "https://a.org/x", True),
        ("See <https://a.org/x>", "https://a.org/x", True),
        ("See https://a.org/x/y and https://a.org/x.html", "https://a.org/x", False),
        ("Nothing of the kind.", "https://a.org/x", False),
        ("See https://a.org/x!!!!!!!!!!!!", "https://a.org/x", False),
        ("", "https://a.org/x", False),
    ],
)
def test_a_source_is_listed_unless_its_address_is_in_the_text(
    text: str, url: str, *, is_linked: bool
) -> None:
    sources = completed(message(text, cited(url))).unlinked_sources

    assert sources == (() if is_linked else (Source(title="T", url=url),))


def test_each_source_is_listed_once_in_order_and_by_its_host_where_it_has_no_title() -> None:
    answer = message(
        "Two say so.",
        cited("https://b.org/1", "B"),
        cited("https://a.org/2?utm_source=openai", "  "),
        cited("https://b.org/1", "B again"),
        cited("https://a.org/2", "A"),
        cited("javascript:alert(1)", "bad"),
        cited("http://", None),
        cited(None),
        {"type": "new_citation", "url": "https://c.org"},
    )

    assert completed(answer).unlinked_sources == (
        Source(title="B", url="https://b.org/1"),
        Source(title="a.org", url="https://a.org/2?utm_source=openai"),
        Source(title="http://", url="http://"),
    )


def test_places_count_characters_and_stay_inside_the_text() -> None:
    text = "Größe 🌍 ([a](https://a.org))"
    start = text.index("(")
    found = completed(
        message(text, cited("https://a.org", start=start, end=len(text)), cited("x", end=10**9))
    ).citations

    assert found[0].cited_text == "([a](https://a.org))"
    assert found[1].cited_text == text


def test_files_that_code_made_are_named_once() -> None:
    made = {"type": "container_file_citation", "container_id": "cntr_1", "file_id": "cfile_1"}
    cited_file = {"type": "file_citation", "file_id": "file-1", "filename": "a.pdf", "index": 3}
    completion = completed(
        message(
            "See a.csv",
            {**made, "filename": "a.csv"},
            {**made, "filename": "a.csv"},
            {**made, "file_id": "cfile_2"},
            cited_file,
        )
    )

    assert completion.made_files == (
        MadeFile(file_id="cfile_1", container_id="cntr_1", filename="a.csv"),
        MadeFile(file_id="cfile_2", container_id="cntr_1", filename="cfile_2"),
    )
    assert completion.citations[-1].filename == "a.pdf"
    assert completion.citations[-1].start == 3


@pytest.mark.parametrize(
    ("beginning", "told"),
    [
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"\xff\xd8\xff\xe0", "jpeg"),
        (b"RIFF....WEBP", "webp"),
        (b"GIF89a", "gif"),
        (b"anything", "png"),
    ],
)
def test_an_image_without_a_format_is_told_by_its_first_bytes(beginning: bytes, told: str) -> None:
    data = base64.b64encode(beginning).decode()
    image = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": data}

    (found,) = completed(image).images

    assert (found.format, found.data, found.item_id) == (told, data, "ig_1")


def test_azure_calls_an_image_generating_that_is_whole() -> None:
    image = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "generating",
        "result": "aGk=",
        "output_format": "webp",
        "size": "1024x1024",
        "revised_prompt": "A sun.",
    }
    completion = completed(image)

    (found,) = completion.images
    assert (found.format, found.size, found.prompt) == ("webp", "1024x1024", "A sun.")
    assert completion.hosted_calls[0].status == "completed"


@pytest.mark.parametrize("result", [None, "", 7])
def test_an_image_that_is_not_there_is_none(result: object) -> None:
    image = {"type": "image_generation_call", "status": "failed", "result": result}
    completion = completed({**image, "error": {"code": "moderation_blocked", "message": "No."}})

    assert completion.images == ()
    assert completion.hosted_calls == (
        HostedCall(
            type="image_generation_call",
            item_id="",
            name="image_generation",
            status="failed",
            error="No.",
        ),
    )


@pytest.mark.parametrize(
    ("items", "told"),
    [
        (
            [
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {
                        "type": "search",
                        "queries": ["a", "b", 7],
                        "sources": [
                            {"type": "url", "url": "https://a.org"},
                            {"type": "api", "name": "oai-weather"},
                        ],
                    },
                }
            ],
            ("web_search", "completed", "a\nb", "https://a.org\noai-weather", ""),
        ),
        (
            [
                {
                    "type": "web_search_call",
                    "status": "searching",
                    "action": {"type": "find_in_page", "url": "https://a.org", "pattern": "x"},
                }
            ],
            ("web_search", "searching", "https://a.org\nx", "", ""),
        ),
        (
            [
                {
                    "type": "code_interpreter_call",
                    "status": "completed",
                    "code": "print(1)",
                    "outputs": [
                        {"type": "logs", "logs": "1\n"},
                        {"type": "image", "url": "https://a.org/i.png"},
                    ],
                }
            ],
            ("code_interpreter", "completed", "print(1)", "1\n\nhttps://a.org/i.png", ""),
        ),
        (
            [
                {
                    "type": "mcp_call",
                    "server_label": "gh",
                    "name": "find",
                    "arguments": "{}",
                    "output": None,
                    "error": {"type": "mcp_protocol_error", "code": 32000},
                }
            ],
            ("gh.find", "failed", "{}", "", '{"type": "mcp_protocol_error", "code": 32000}'),
        ),
        (
            [{"type": "mcp_list_tools", "server_label": "gh", "tools": [], "error": "no answer"}],
            ("gh", "failed", "", "", "no answer"),
        ),
        (
            [
                {"type": "shell_call", "call_id": "c", "status": "completed", "action": {"a": 1}},
                {
                    "type": "shell_call_output",
                    "call_id": "c",
                    "output": [{"stdout": "out", "stderr": "err"}],
                },
            ],
            ("shell", "completed", '{"a": 1}', "out\nerr", ""),
        ),
        (
            [
                {"type": "program", "call_id": "c", "code": "text(1)"},
                {"type": "program_output", "call_id": "c", "result": "1"},
            ],
            ("programmatic_tool_calling", "completed", "text(1)", "1", ""),
        ),
        (
            [
                {"type": "tool_search_call", "call_id": None, "arguments": {"paths": ["f"]}},
                {"type": "tool_search_output", "call_id": None, "tools": [{"name": "f"}]},
            ],
            ("tool_search", "completed", '{"paths": ["f"]}', "f", ""),
        ),
        ([{"type": "brand_new_call", "status": "odd"}], ("brand_new", "odd", "", "", "")),
    ],
)
def test_a_call_of_the_server_is_told_for_a_log(
    items: list[dict[str, Any]], told: tuple[str, ...]
) -> None:
    (call,) = completed(*items).hosted_calls

    assert (call.name, call.status, call.input, call.output, call.error) == told


def test_functions_and_custom_tools_are_no_calls_of_the_server() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}

    assert completed(call, {**call, "type": "custom_tool_call", "input": ""}).hosted_calls == ()


def test_what_is_billed_beside_tokens_is_read_or_counted() -> None:
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search"}}
    opened = {**search, "action": {"type": "open_page"}}
    ran = {"type": "code_interpreter_call", "status": "completed", "container_id": "cntr_1"}
    files = {"type": "file_search_call", "status": "completed"}
    output = (search, search, opened, ran, ran, files, {**files, "status": "failed"})
    image = {
        "input_tokens": 15,
        "input_tokens_details": {"text_tokens": 5, "image_tokens": 10},
        "output_tokens": 40,
    }

    assert completed(*output).tool_usage == ToolUsage(web_searches=2, file_searches=1, containers=1)
    told = {"web_search": {"num_requests": 1}, "image_gen": image}
    assert completed(*output, tool_usage=told).tool_usage == ToolUsage(
        web_searches=1,
        file_searches=1,
        containers=1,
        image_input_text_tokens=5,
        image_input_image_tokens=10,
        image_output_tokens=40,
    )
    bare = {"image_gen": {"input_tokens": 7}}
    assert completed(tool_usage=bare).tool_usage == ToolUsage(image_input_text_tokens=7)


@pytest.mark.parametrize(
    ("told", "searches"), [(0, 0), (3, 3), (10**30, 1), ("7", 1), (-1, 1), (7.5, 1), (None, 1)]
)
def test_a_number_of_searches_that_is_none_is_counted_instead(told: object, searches: int) -> None:
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search"}}
    huge = {"output_tokens": 10**30}
    completion = completed(
        search, tool_usage={"web_search": {"num_requests": told}, "image_gen": huge}
    )

    assert completion.tool_usage == ToolUsage(web_searches=searches)


def test_what_the_server_left_out_of_the_input_and_its_moderation_are_kept() -> None:
    removed = {"id": "rs_1", "type": "reasoning", "action": "removed", "reason": "model_mismatch"}
    completion = completed(input_transformations=[removed, "odd"], moderation={"input": {}})

    assert completion.input_transformations == (removed,)
    assert completion.moderation == {"input": {}}
    assert completed().moderation is None


@pytest.mark.parametrize("odd", [None, 7, "x", ["x"], {"a": 1}, [7, {"a": []}]])
def test_nonsense_in_a_hosted_item_raises_nothing(odd: Any) -> None:
    kinds = ("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "program")
    keys = ("action", "queries", "results", "outputs", "code", "error", "name", "status", "result")
    items = [dict.fromkeys(keys, odd) | {"type": kind} for kind in (*kinds, "mcp_list_tools")]
    completion = completed(*items, message("x") | {"content": [{"text": odd, "annotations": odd}]})

    assert len(completion.hosted_calls) == 6
    assert completion.citations == ()
    assert completion.approval_requests == completion.made_files == ()


def test_the_steps_of_a_tool_are_told_and_pieces_of_what_comes_whole_are_not() -> None:
    image = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aGk="}
    whole = {"type": "response.output_item.done", "output_index": 0, "item": image}
    names = (
        *("image_generation_call.in_progress", "image_generation_call.partial_image"),
        *("image_generation_call.completed", "code_interpreter_call_code.delta"),
        *("output_text.annotation.added", "mcp_call_arguments.delta"),
    )
    decoder = StreamDecoder()
    events = [
        found
        for name in names
        for found in decoder.feed({"type": f"response.{name}", "output_index": 0, "delta": "x"})
    ]

    assert [*events, *decoder.feed(whole)] == [
        HostedProgress(output_index=0, type="image_generation_call", stage="in_progress"),
        HostedProgress(output_index=0, type="image_generation_call", stage="completed"),
        ItemDone(output_index=0, item=image),
    ]
    assert StreamDecoder().feed({"type": "response.web_search_call.searching"}) == [
        HostedProgress(output_index=-1, type="web_search_call", stage="searching")
    ]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
def test_a_recorded_stream_has_no_event_of_a_hosted_tool_that_is_unknown(recording: Path) -> None:
    if recording.suffix == ".json":
        return
    decoder = StreamDecoder()
    events: list[StreamEvent] = [
        found
        for event in SSEDecoder().feed(recording.read_bytes())
        for found in decoder.feed(event)
    ]

    unknown = {found.type for found in events if isinstance(found, UnknownEvent)}
    assert unknown <= {"keepalive"}


def test_sources_are_a_list_of_links_that_markdown_reads() -> None:
    shown = render_sources(
        [
            Source(title="A [draft]\n`x`", url="https://a.org/x_(y) z"),
            Source(title="B", url="https://b.org"),
            Source(title="C", url="https://c.org/é\n\n# Title"),
        ]
    )

    assert shown.replace("\u2063", "") == (
        "\n\n- [A draft x](https://a.org/x_%28y%29%20z)\n- [B](https://b.org)"
        "\n- [C](https://c.org/é%0A%0A#%20Title)"
    )
    assert render_sources([]) == render_addendum(" ") == ""


@given(
    before=st.text(), added=st.text(), after=st.text(), between=st.sampled_from(["", "\n\nMore."])
)
def test_what_was_added_to_an_answer_comes_out_again(
    before: str, added: str, after: str, between: str
) -> None:
    answer, rest = before.replace("\u2063", ""), after.replace("\u2063", "")
    shown = answer + render_addendum(added) + between + render_addendum(added) + rest

    if added.strip():
        assert without_addenda(shown) == (answer.rstrip() + between.rstrip() + rest)
    else:
        assert without_addenda(shown) == answer + between + rest


@given(before=st.text(), added=st.text(min_size=1), data=st.data())
def test_what_was_added_comes_out_also_where_a_platform_has_cut_the_text_within_it(
    before: str, added: str, data: st.DataObject
) -> None:
    answer, told = before.replace("\u2063", ""), "x" + added.replace("\u2063", "")
    shown = answer + render_addendum("Told before.") + render_addendum(told)
    kept = data.draw(st.integers(len(shown) - len(told.strip()) - 1, len(shown) - 1))

    for cut in (shown[:kept], shown[:kept] + "..."):
        assert without_addenda(cut) == answer.rstrip()
        assert without_addenda(cut.replace("\n\n", " ")) == answer.replace("\n\n", " ").rstrip()


def test_a_mark_that_ends_what_was_cut_away_takes_nothing_along() -> None:
    shown = "Noon." + render_addendum("- [A](https://a.org)") + " Then more."

    assert without_addenda(shown[12:]).endswith("Then more.")


def test_an_approval_request_is_a_value_of_its_own() -> None:
    request = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "drop", "arguments": "{}"}

    assert completed(request).approval_requests == (
        ApprovalRequest(item_id="mcpr_1", server_label="", name="drop", arguments="{}"),
    )


def test_what_was_added_for_a_reader_does_not_go_back_to_the_model() -> None:
    sources = render_sources([Source(title="A", url="https://a.org")])
    answer = {"role": "assistant", "content": "Noon." + sources}

    assert build_input([answer]) == [{"type": "message", "role": "assistant", "content": "Noon."}]
    parts = [{"type": "text", "text": "Noon."}, {"type": "text", "text": sources}]
    assert build_input([{"role": "assistant", "content": parts}]) == build_input([answer])


def test_the_cost_of_large_images_and_many_citations_does_not_grow_faster_than_they_do() -> None:
    def decode(size: int) -> None:
        data = json.dumps({"type": "x", "partial_image_b64": "A" * (size * 1_000)}).encode()
        frame = b"data: " + data + b"\n\n"
        links = [f"https://a{number}.example.org/{number}" for number in range(size)]
        answer = message(" ".join(links[::2]), *(cited(link) for link in links))
        image = {"type": "image_generation_call", "result": "A" * (size * 1_000)}
        frames, decoder = SSEDecoder(), StreamDecoder()
        for start in range(0, len(frame), 4_096):
            for event in frames.feed(frame[start : start + 4_096]):
                decoder.feed(event)
        completion = completed(answer, image)
        assert len(completion.unlinked_sources) == size // 2
        assert len(completion.images) == 1

    assert is_linear(decode, 100)

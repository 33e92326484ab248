"""What is said below an answer, and how it is passed over when the answer comes back."""

from typing import Any

import pytest

from gpt5_messages import GeneratedImage, build_input, read_response, render_appendix


def appendix(*items: dict[str, Any], omitted: tuple[GeneratedImage, ...] = ()) -> str:
    completion = read_response({"status": "completed", "output": list(items)})
    return render_appendix(completion, omitted)


def told(*items: dict[str, Any], omitted: tuple[GeneratedImage, ...] = ()) -> list[str]:
    """Return the paragraphs of an appendix."""
    return appendix(*items, omitted=omitted).replace("\u2063", "").strip().split("\n\n")


def message(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": list(annotations)}
    return {"type": "message", "role": "assistant", "content": [part]}


def made(name: str, container: str = "cntr_1") -> dict[str, Any]:
    kind = "container_file_citation"
    return {"type": kind, "container_id": container, "file_id": f"id-{name}", "filename": name}


def test_there_is_nothing_to_say_of_an_answer_without_tools() -> None:
    assert appendix(message("Hello.")) == ""


def test_sources_files_and_all_else_are_paragraphs_of_their_own() -> None:
    text = message(
        "Noon, see [here](https://a.example).",
        {"type": "url_citation", "url": "https://a.example", "title": "A"},
        {"type": "url_citation", "url": "https://b.example", "title": "B"},
        made("a.csv"),
        made("b`\n.csv"),
        made("c.csv", "cntr_2"),
    )

    sources, first, second = told(text)
    assert sources == "- [B](https://b.example)"
    assert first.startswith(
        "Files of the code interpreter: `a.csv`, `b .csv`. They are in container `cntr_1`"
    )
    assert second.startswith(
        "Files of the code interpreter: `c.csv`. They are in container `cntr_2`"
    )


def test_of_very_many_files_some_are_named() -> None:
    (sentence,) = told(message("Done.", *(made(f"{number}.csv") for number in range(30))))

    assert "`19.csv`, and more." in sentence
    assert "`20.csv`" not in sentence


@pytest.mark.parametrize(
    ("arguments", "with_arguments"),
    [('{"a": 1}', ' with `{"a": 1}`'), ("", ""), ("x" * 400, f" with `{'x' * 300}...`")],
)
def test_leave_that_is_asked_for_is_told_and_not_given(arguments: str, with_arguments: str) -> None:
    request = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "gh",
        "name": "create_issue",
        "arguments": arguments,
    }

    (sentence,) = told(request)
    assert sentence.startswith(
        f"The model asks for approval to call `gh.create_issue`{with_arguments}. Nobody can approve it"
    )


@pytest.mark.parametrize(
    "kind", ["shell_call", "local_shell_call", "apply_patch_call", "computer_call"]
)
def test_calls_that_wait_for_the_caller_are_told_once_for_each_kind(kind: str) -> None:
    calls = [{"type": kind, "call_id": call_id, "status": "completed"} for call_id in ("a", "b")]
    output = {"type": f"{kind}_output", "call_id": "a", "output": []}

    assert told(*calls) == told(*calls, output)
    assert told(*calls) == [
        f"The model called the tool `{kind.removesuffix('_call')}`, which nobody here can answer."
    ]
    assert appendix(calls[0], output) == ""


def test_tools_that_have_failed_are_told_once_for_each_reason() -> None:
    search = {"type": "web_search_call", "status": "failed", "action": {"type": "search"}}
    call = {"type": "mcp_call", "status": "failed", "server_label": "gh", "name": "list"}
    call["error"] = {"type": "http_error", "code": 401, "message": "No\ntoken."}

    assert told(search, search, call) == [
        "The tool `web_search` failed.",
        "The tool `gh.list` failed: No token.",
    ]


def test_a_tool_that_has_done_its_work_after_it_had_failed_is_not_told() -> None:
    failed = {"type": "web_search_call", "status": "failed", "action": {"type": "search"}}
    other = {"type": "file_search_call", "status": "completed", "queries": []}
    done = {**failed, "status": "completed"}

    assert appendix(failed, done) == ""
    assert told(done, failed, other) == ["The tool `web_search` failed."]
    assert told(failed, {**failed, "status": "incomplete"}) == ["The tool `web_search` failed."]


def test_an_image_that_is_left_out_is_told_with_its_size() -> None:
    image = GeneratedImage(data="A" * 8_000_000, format="png", size="2048x2048")
    unknown = GeneratedImage(data="A" * 8_000_000, format="png")

    assert told(omitted=(image, unknown)) == [
        "An image (2048x2048 png, 6.0 MB) was left out, because it is damaged or too large to be shown here. Ask for a smaller one.",
        "An image (png, 6.0 MB) was left out, because it is damaged or too large to be shown here. Ask for a smaller one.",
    ]


def test_nothing_of_it_goes_back_to_the_model() -> None:
    items = [
        message(
            "Noon.",
            {"type": "url_citation", "url": "https://b.example", "title": "B"},
            made("a.csv"),
        ),
        {"type": "web_search_call", "status": "failed", "action": {"type": "search"}},
    ]
    said = "Noon." + appendix(*items)

    (item,) = build_input([{"role": "assistant", "content": said}])
    assert "b.example" in said
    assert item["content"] == "Noon."

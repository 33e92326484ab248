"""The law of the packages that are taken together: what `read_response` gives, `AgentRun` takes, and `build_input` takes back, item for item."""

import json
import random
from dataclasses import asdict

import pytest

from agent_driver import drive
from agent_loop import AgentRun, CallModel, Finished, ModelDone, ShowText
from agent_tooling import ToolError
from gpt5_messages import build_input, read_response


QUESTION = {"role": "user", "content": "What is it?"}
ASKED = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "What is it?"}],
}
PIXEL = "data:image/png;base64,iVBORw0KGgo="
PDF = "data:application/pdf;base64,JVBERi0xLjc="
LINK = "https://x.example/a.png"


def said(text, **more):
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [part], **more}


def hosted(kind, **more):
    return {"type": f"{kind}_call", "id": f"{kind}_1", "status": "completed", **more}


BESIDE = [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    said("Hm.", phase="commentary", status="completed"),
    said("<think>no thought</think> Hm."),
    hosted("web_search", action={"type": "search", "query": "q"}),
    hosted("file_search", queries=["q"], results=None),
    hosted("code_interpreter", code="1", container_id="c", outputs=[]),
    hosted("image_generation", result="aGk="),
    {"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "server_label": "s"},
    {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []},
    {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
    {"type": "of_tomorrow", "id": "x_1", "much": {"more": [1, None]}},
]
ARGUMENTS = ["", "{}", '{"a": "é"}', '{ "b":1,"a":2}', "raw text", '{"a": ']
RESULTS = [
    ("4", "4"),
    ("", ""),
    ([], ""),
    (["a", "b"], "a\nb"),
    ([{"type": "text", "text": "4"}], "4"),
    (
        ["seen:", {"type": "image", "url": LINK}],
        [
            {"type": "input_text", "text": "seen:"},
            {"type": "input_image", "detail": "auto", "image_url": LINK},
        ],
    ),
    (
        [{"type": "image", "data": PIXEL}],
        [{"type": "input_image", "detail": "auto", "image_url": PIXEL}],
    ),
    (
        [{"type": "file", "data": PDF, "name": "a.pdf"}],
        [{"type": "input_file", "filename": "a.pdf", "file_data": PDF}],
    ),
]


def made(number, kind, arguments):
    key = "arguments" if kind == "function_call" else "input"
    call = {"type": kind, "id": f"fc_{number}", "call_id": f"c{number}", "status": "completed"}
    return {**call, "name": "f", key: arguments}


def draw_turns(seed):
    """Return the outputs of some responses, each with calls, and what the tools say to these."""
    draw, number = random.Random(seed), 0
    for _ in range(3):
        calls = []
        for _ in range(draw.randint(1, 3)):
            number += 1
            kind = draw.choice(["function_call", "custom_tool_call"])
            calls.append(made(number, kind, draw.choice(ARGUMENTS)))
        yield [*draw.sample(BESIDE, 4), *calls], [draw.choice(RESULTS) for _ in calls]


def respond(output):
    """Return a response with its usage; of what it says nothing may be lost."""
    return read_response({"status": "completed", "output": output, "usage": {"input_tokens": 1}})


def through_json(messages):
    """Return messages as a platform keeps them in a database."""
    kept = [message if isinstance(message, dict) else asdict(message) for message in messages]
    return json.loads(json.dumps(kept))


def since_compaction(items):
    """Return what a request says of them: what lies before the newest compaction stands in that."""
    places = [index for index, item in enumerate(items) if item.get("type") == "compaction"]
    return items[places[-1] :] if places else items


@pytest.mark.parametrize("keep", [list, through_json])
@pytest.mark.parametrize("seed", range(20))
def test_an_agent_run_gives_every_item_back(seed, keep):
    run = AgentRun([QUESTION], maximum_iterations=9)
    events, expected = run.start(), [ASKED]
    for output, results in draw_turns(seed):
        assert build_input(keep(events[-1].messages)) == since_compaction(expected)
        run.feed(respond(output))
        run.feed(ModelDone())
        calls = [item for item in output if "call_id" in item]
        expected += output
        for call, (content, told) in zip(calls, results, strict=True):
            events = run.feed({"call_id": call["call_id"], "content": content})
            expected.append(
                {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": told}
            )
    last = [BESIDE[seed % len(BESIDE)], said("It is 4.")]
    run.feed(respond(last))
    [*_, finished] = run.feed(ModelDone())
    assert isinstance(finished, Finished)
    following = [*keep(finished.messages), QUESTION]
    assert build_input(following) == since_compaction([*expected, *last, ASKED])
    assert finished.usage.input_tokens == 4


@pytest.mark.parametrize("seed", range(5))
def test_completions_and_results_go_back_without_a_run(seed):
    history, expected = [QUESTION], [ASKED]
    for output, results in draw_turns(seed):
        completion = respond(output)
        history.append(completion)
        expected += output
        for call, (content, told) in zip(completion.tool_calls, results, strict=True):
            history.append({"call_id": call.call_id, "content": content})
            kind = "function" if call.type == "function" else "custom_tool"
            expected.append(
                {"type": f"{kind}_call_output", "call_id": call.call_id, "output": told}
            )
    assert build_input(history) == since_compaction(expected)


def test_a_driven_run_keeps_what_tools_have_shown_and_why_they_failed():
    def look() -> list:
        """Look."""
        return ["seen:", {"type": "image", "url": LINK}]

    def fail() -> None:
        """Fail."""
        raise ToolError("nothing there")

    output = [BESIDE[0], made(1, "function_call", ""), made(2, "function_call", "{}")]
    output[-1]["name"] = "fail"
    output[-2]["name"] = "look"

    def model(call: CallModel):
        return respond(output) if call.round == 1 else respond([said("Seen.")])

    events = list(drive(AgentRun([QUESTION], maximum_iterations=3), model, [look, fail]))
    items = build_input(events[-1].messages)
    assert items[1:4] == output
    assert [item["output"] for item in items[4:6]] == [RESULTS[5][1], "nothing there"]
    assert items[6:] == [said("Seen.")]
    assert "".join(event.text for event in events if isinstance(event, ShowText)).endswith("Seen.")

"""Runs with the model plugin that this one is made for."""

import base64
import json
from itertools import count, pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from both_plugins import BothPlugins, make_tool
from dify_plugin_host import CallOrigin, PlatformRules
from gpt5_simulator import (
    CutStream,
    DemoModel,
    EncryptedContentRefused,
    FunctionCall,
    HttpError,
    OutputItem,
    Reasoning,
    Text,
)
from scripted_dify import SHOWN_ALONE
from stream_text import mend_tags, strip_think


CALL_IDS = (f"call_{number}" for number in count())
KEPT_BY = {
    "content parts": PlatformRules(),
    "the model plugin's store": PlatformRules(drop_opaque_body=True),
}


@pytest.fixture(scope="session")
def both_running(runner):
    """Start both plugins side by side, once for all tests."""
    both = BothPlugins(runner)
    both.start()
    yield both
    both.stop()


@pytest.fixture
def both_under(both_running):
    """Give out the plugins, in each way that Dify may treat what they carry."""

    def choose(kept_by):
        both_running.apply(KEPT_BY[kept_by])
        return both_running

    return choose


@pytest.fixture
def both(both_under):
    return both_under("content parts")


def call(text="x", *, name="echo"):
    return FunctionCall(name=name, arguments={"text": text}, call_id=next(CALL_IDS))


def said(text):
    return Text(text=text)


def thoughts(*parts):
    return Reasoning(summary=parts or ("**Plan**\n\nLook it up.",))


def kinds(items):
    return [item.get("type") or item["role"] for item in items]


def run_three_rounds(both, **fields):
    both.script(
        [thoughts(), said("Looking."), call("a"), call("b")],
        [thoughts(), call("c")],
        [thoughts(), said("Done.")],
    )
    transcript = both.run(**fields)
    assert transcript.error is None
    return transcript


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
@pytest.mark.parametrize("kept_by", KEPT_BY)
def test_reasoning_is_kept_between_rounds(both_under, kept_by, strategy):
    """C4: through the official pair of plugins every round begins without it."""
    both = both_under(kept_by)
    run_three_rounds(both, strategy=strategy)
    first, second, third = (body["input"] for body in both.bodies)
    added = kinds(second[len(first) :])
    assert added == ["reasoning", "message", *["function_call"] * 2, *["function_call_output"] * 2]
    assert kinds(third[len(second) :]) == ["reasoning", "function_call", "function_call_output"]
    reasoning = [item for item in third if item.get("type") == "reasoning"]
    assert all(item["encrypted_content"] for item in reasoning)


@pytest.mark.parametrize("kept_by", KEPT_BY)
def test_what_another_server_thinks_aloud_is_kept_too_and_stands_in_no_log(both_under, kept_by):
    both = both_under(kept_by)
    aloud = Reasoning(text=("They want a word.",))
    both.script([aloud, call("a")], [aloud, call("b")], [aloud, said("Done.")])
    transcript = both.run(maximum_iterations=3)
    first, second, third = (body["input"] for body in both.bodies)
    assert kinds(second[len(first) :]) == kinds(third[len(second) :])
    assert [item["content"][0]["text"] for item in third if item.get("type") == "reasoning"] == [
        *aloud.text,
        *aloud.text,
    ]
    assert "made_by" not in str(both.bodies)
    assert "a word." not in f"{transcript.text} {transcript.logs}"


@pytest.mark.parametrize("kept_by", KEPT_BY)
def test_each_request_to_openai_is_the_one_before_and_more(both_under, kept_by):
    both = both_under(kept_by)
    run_three_rounds(both, maximum_iterations=3)
    assert [body["tool_choice"] for body in both.bodies] == ["auto", "auto", "none"]
    for before, after in pairwise(both.bodies):
        assert after["input"][: len(before["input"])] == before["input"]
        changed = {name for name in before | after if before.get(name) != after.get(name)}
        assert changed <= {"input", "tool_choice"}


def test_the_log_of_a_round_says_what_was_read_from_the_prompt_cache(both):
    [thought] = [log for label, log in run_three_rounds(both).logs.items() if "Thought" in label]
    cache = thought["data"]["output"]["prompt_cache"]
    assert 0 <= cache["read_from_cache"] <= cache["input"]
    assert "prompt_cache" not in str(both.bodies[-1]["input"])


def test_summaries_are_shown_as_balanced_thoughts(both):
    text = run_three_rounds(both).text
    block = "<think>\n**Plan**\n\nLook it up.\n</think>"
    assert text.count("<think>") == text.count("</think>") == text.count(block) == 3
    assert "Looking." in text
    assert text.endswith("Done.")


def test_hidden_summaries_leave_only_words(both):
    text = run_three_rounds(both, emit_intermediate_thoughts=False).text
    assert text == "Looking.\nDone."


def test_no_thought_is_sent_back_as_words(both):
    run_three_rounds(both)
    assert "think>" not in str(both.bodies[-1]["input"])


def test_the_figures_are_those_of_all_rounds(both):
    metadata = run_three_rounds(both).metadata
    inputs = [len(str(body["input"])) for body in both.bodies]
    assert inputs == sorted(inputs)
    assert metadata["iterations"] == 3
    assert metadata["stop_reason"] == "answered"
    assert metadata["total_tokens"] == metadata["prompt_tokens"] + metadata["completion_tokens"]
    assert float(metadata["total_price"]) > 0


def test_a_failing_and_an_unknown_tool_leave_the_conversation_whole(both):
    both.script(
        [thoughts(), call("a", name="fail"), call("b", name="missing"), call("c")],
        [said("One worked.")],
    )
    transcript = both.run()
    outputs = [item["output"] for item in both.bodies[1]["input"] if "output" in item]
    assert outputs == [
        "tool invoke error: failed to execute tool",
        "there is not a tool named missing",
        "c",
    ]
    assert transcript.text.endswith("One worked.")


def test_arguments_that_are_no_json_are_answered_and_not_run(both):
    broken = FunctionCall(name="echo", arguments='{"text": ', call_id=next(CALL_IDS))
    both.script([thoughts(), broken], [said("Sorry.")])
    assert both.run().text.endswith("Sorry.")
    [output] = [item["output"] for item in both.bodies[1]["input"] if "output" in item]
    assert output == "tool arguments parse error: tool arguments must be valid JSON object"


@pytest.mark.parametrize("status", [400, 429])
def test_a_refused_model_call_in_a_later_round_ends_the_run_with_figures_and_a_sentence(
    both, status
):
    refused = HttpError(status=status, message="Limit 3 of org-7.")
    both.script([thoughts(), said("Looking."), call()], faults=[None, refused])
    transcript = both.run()
    assert transcript.text.endswith("Looking.")
    assert transcript.error.error_type == SHOWN_ALONE
    assert transcript.error.message.startswith("The model call of round 2 failed: ")
    assert "{" not in transcript.error.message
    # The public of an app reads the error, and its builder the log.
    assert "org-7" not in transcript.error.message
    assert "Limit 3 of org-7." in transcript.logs["ROUND 2"]["error"]
    assert {log["status"] for log in transcript.logs.values()} == {"success", "error"}
    assert transcript.metadata["stop_reason"] == "error"
    assert transcript.metadata["total_tokens"] > 0


def test_a_stream_that_breaks_off_leaves_what_was_shown_in_balance(both):
    both.script([thoughts("Long. " * 40), said("Never.")], faults=[CutStream(after_events=12)])
    transcript = both.run()
    assert transcript.text.count("<think>") == transcript.text.count("</think>") == 1
    assert transcript.error.message.startswith("The model call of round 1 failed: ")
    assert transcript.metadata["stop_reason"] == "error"


def test_reasoning_that_the_server_does_not_take_back_does_not_end_the_run(both):
    both.script(
        [thoughts(), call()],
        [said("All the same.")],
        faults=[None, EncryptedContentRefused(times=1)],
    )
    transcript = both.run()
    assert transcript.error is None
    assert transcript.text.endswith("All the same.")


def test_an_answer_that_is_cut_at_the_output_limit_is_shown_and_marked(both):
    both.script([said("word " * 200)])
    transcript = both.run(completion_params={"max_output_tokens": 16})
    assert transcript.text.startswith("word word")
    assert transcript.error is None
    assert transcript.metadata["stop_reason"] == "output_limit"


def test_reasoning_that_uses_up_the_output_limit_is_a_failure_that_says_what_to_do(both):
    both.script([thoughts("Long. " * 100), said("Never.")])
    transcript = both.run(completion_params={"max_output_tokens": 16})
    assert "max_output_tokens" in transcript.error.message
    assert transcript.metadata["stop_reason"] == "error"


def test_earlier_turns_come_before_the_question(both):
    both.script([said("Again.")])
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "<think>\ngreet\n</think>\nHi"},
    ]
    both.run("And now?", history=history)
    [body] = both.bodies
    turns = [str(item["content"]) for item in body["input"][-3:]]
    assert ["Hello" in turns[0], "Hi" in turns[1], "And now?" in turns[2]] == [True] * 3
    assert "greet" not in str(body)


TEXTS = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "<THINK>", "< think>", "\n", "\r\n", " word ", "> "),
            *('"<think>"', "`<think>`", "\n```html\n<think>\nno\n</think>\n```\n", "a <th"),
            *("\n<think>\nsaid\n</think>", "\n<think>said</think>", "\n    <think>"),
        ]
    ),
    max_size=8,
).map("".join)
FEW = settings(max_examples=10, deadline=None, derandomize=True)


@FEW
@given(text=TEXTS, summary=TEXTS, shows=st.booleans())
@example(text="<think>\nsaid\n</think>4", summary="The </think> tag", shows=True)
@example(text="Use the `<think>` tag.", summary="Plan", shows=False)
def test_words_about_thoughts_stay_words_through_both_plugins_and_back(
    both_running, text, summary, shows
):
    """What the model says is shown, and told to the model in the next turn, whole; of what it thinks nothing is."""
    both_running.apply(PlatformRules())
    said_, thought = said(f"{text}\nend"), thoughts(f"{summary} secret")
    both_running.script([thought, said_, call()], [thought, said_])
    shown = both_running.run(emit_intermediate_thoughts=shows).text
    words = "".join(f"{text}end" * 2).split()
    assert ("secret" in shown) is shows
    assert "".join(mend_tags(strip_think(shown)).split()) == "".join(words)

    both_running.script([said("Fine.")])
    both_running.run(history=[{"role": "assistant", "content": shown}])
    [told] = [item for item in both_running.bodies[0]["input"] if item["role"] == "assistant"]
    assert "".join(told["content"].split()) == "".join(words)


LOOKED_UP = {
    "id": "call_old",
    "type": "function",
    "function": {"name": "echo", "arguments": "{}"},
}


@pytest.mark.parametrize(
    "history",
    [
        [{"role": "tool", "content": "x", "tool_call_id": "call_old"}],
        [{"role": "assistant", "content": "", "tool_calls": [LOOKED_UP]}],
        [{"role": "assistant", "content": None}],
        [{"role": "user", "content": [{"type": "text", "data": "Hello"}]}],
        [{"role": "system", "content": "Formal."}, {"role": "developer", "content": "Short."}],
    ],
    ids=["a result alone", "a call alone", "nothing", "parts", "two more instructions"],
)
def test_a_history_that_was_cut_or_is_odd_is_no_reason_to_fail(both, history):
    both.script([said("Fine.")])
    transcript = both.run(history=history)
    assert transcript.error is None
    assert transcript.text == "Fine."


@pytest.mark.parametrize(("model", "has_preamble"), [("gpt-5.2", True), ("gpt-5.3-codex", False)])
def test_codex_models_are_not_asked_for_preambles(both, model, has_preamble):
    both.script([said("Done.")])
    both.run(model=model)
    [body] = both.bodies
    assert ("<tool_preamble>" in str(body)) is has_preamble
    assert "<persistence>" in str(body)


def test_a_model_that_decides_for_itself_calls_the_tool_and_answers_from_it(both):
    both.use(DemoModel())
    transcript = both.run('Echo the text "seventeen apples".')
    assert transcript.error is None
    assert "CALL echo" in transcript.logs
    assert "seventeen apples" in transcript.text
    assert "output" in both.bodies[1]["input"][-1]


SEARCH = {"web_search": "low", "code_interpreter": True, "image_generation": True}


def hosted(kind, **fields):
    return OutputItem(item={"type": kind, **fields})


def drawn(size):
    data = base64.b64encode(b"\xff\xd8\xff" + bytes(size - 3)).decode()
    fields = {"result": data, "output_format": "jpeg", "size": "1024x1024"}
    return hosted("image_generation_call", **fields)


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
@pytest.mark.parametrize("kept_by", KEPT_BY)
def test_what_openai_s_own_tools_did_is_kept_between_rounds(both_under, kept_by, strategy):
    both = both_under(kept_by)
    action = {"type": "search", "query": "time", "queries": ["time"]}
    code = {"code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}]}
    cited = {"type": "url_citation", "url": "https://a.example", "title": "A"}
    both.script(
        [thoughts(), hosted("web_search_call", action=action), thoughts(), call("a")],
        [hosted("code_interpreter_call", container_id="cntr_1", **code), thoughts(), call("b")],
        [thoughts(), Text(text="Done.", annotations=[{**cited, "start_index": 0, "end_index": 4}])],
    )
    transcript = both.run(strategy=strategy, model="gpt-6-luna", completion_params=SEARCH)

    assert transcript.error is None
    first, second, third = (body["input"] for body in both.bodies)
    added = ["reasoning", "web_search_call", "reasoning", "function_call", "function_call_output"]
    assert kinds(second[len(first) :]) == added
    added = ["code_interpreter_call", "reasoning", "function_call", "function_call_output"]
    assert kinds(third[len(second) :]) == added
    assert third[: len(second)] == second
    assert transcript.text.replace("\u2063", "").endswith("Done.\n\n- [A](https://a.example)")
    assert "print(1)" not in transcript.text
    # Where the platform drops the body, the model plugin's own log has it.
    logged = str([message for message in transcript.messages if message["type"] == "log"])
    assert ("print(1)" in logged) == (kept_by == "content parts")
    assert float(transcript.metadata["total_price"]) > 0.04  # a search and a container


@pytest.mark.parametrize("kept_by", KEPT_BY)
@pytest.mark.parametrize("size", [30_000, 3_000_000])
def test_an_image_that_openai_has_drawn_leaves_as_a_file_and_the_run_goes_on(
    both_under, kept_by, size
):
    both = both_under(kept_by)
    both.script([drawn(size), thoughts(), call("a")], [thoughts(), said("Done.")])
    transcript = both.run(model="gpt-6-luna", completion_params=SEARCH)

    assert transcript.error is None
    assert transcript.text.endswith("Done.")
    blobs = [message for message in transcript.messages if message["type"] == "blob"]
    assert len(blobs) == 1
    first, second = (body["input"] for body in both.bodies)
    assert second[: len(first)] == first
    assert kinds(second)[-2:] == ["function_call", "function_call_output"]


def test_below_an_answer_nothing_goes_into_the_next_turn(both):
    cited = {"type": "url_citation", "url": "https://a.example", "title": "A"}
    both.script([Text(text="Noon.", annotations=[{**cited, "start_index": 0, "end_index": 4}])])
    answer = both.run().text
    history = [
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": answer},
    ]
    both.script([said("You are welcome.")])
    both.run("Thanks.", history=history)

    assert "a.example" in answer
    assert "a.example" not in str(both.bodies[0]["input"])
    assert "Noon." in str(both.bodies[0]["input"])


def test_the_model_searches_tools_through_both_plugins(both):
    made = {"name": "echo", "arguments": {"text": "hello"}}
    both.script(
        [FunctionCall(name="search_tools", arguments={"query": "echo"}, call_id="s1")],
        [FunctionCall(name="call_tool", arguments=made, call_id="s2")],
        [said("Done.")],
    )
    assert both.run(tool_search=True).text.endswith("Done.")
    names = [[tool["name"] for tool in body["tools"]] for body in both.bodies]
    assert names == [["search_tools", "call_tool", "read_result"]] * 3
    found, answer = [item["output"] for item in both.bodies[2]["input"] if "output" in item]
    assert json.loads(found.splitlines()[1])["name"] == "echo"
    assert answer == "hello"


@pytest.mark.long
def test_the_model_searches_a_thousand_tools_through_both_plugins(runner):
    def numbered(number):
        def read(text):
            return f"{number}: {text}"

        read.__name__ = f"read_volume_{number}"
        return make_tool(read, "text")

    both = BothPlugins(runner, [numbered(number) for number in range(998)])
    both.start()
    try:
        made = {"name": "read_volume_477", "arguments": {"text": "hello"}}
        both.script(
            [FunctionCall(name="search_tools", arguments={"query": "volume 477"}, call_id="s1")],
            [FunctionCall(name="call_tool", arguments=made, call_id="s2"), call("b")],
            [said("Done.")],
        )
        assert both.run(tool_search=True).text.endswith("Done.")
        searched = both.bodies
        both.script([said("Done.")])
        both.run()
        [all_in] = both.bodies
    finally:
        both.stop()
    names = [[tool["name"] for tool in body["tools"]] for body in searched]
    assert names == [["search_tools", "call_tool", "read_result"]] * 3
    assert searched[0]["tools"] == searched[1]["tools"] == searched[2]["tools"]
    outputs = [
        item["output"]
        for item in searched[2]["input"]
        if item.get("type") == "function_call_output"
    ]
    assert json.loads(outputs[0].splitlines()[1])["name"] == "read_volume_477"
    assert outputs[1:] == ["477: hello", "b"]
    assert len(all_in["tools"]) == 1_001
    assert len(json.dumps(searched[2])) < 0.05 * len(json.dumps(all_in))


@pytest.mark.parametrize("kept_by", KEPT_BY)
def test_a_remembered_turn_reaches_openai_as_the_beginning_of_the_next_request(both_under, kept_by):
    both = both_under(kept_by)
    both.script(
        [thoughts(), said("Looking."), call("a"), call("b")],
        [thoughts(), said("Done.")],
        [thoughts(), call("c")],
        [thoughts(), said("Done again.")],
    )
    history = []
    for query in ("What is it?", "And now?"):
        origin = CallOrigin(conversation_id=kept_by, app_id="a")
        shown = both.run(query, history=history, origin=origin, remember_turns=True).text
        history += [
            {"role": "user", "content": query},
            {"role": "assistant", "content": shown, "tool_calls": []},
        ]

    first, *later = [body["input"] for body in both.bodies]
    for before, after in pairwise([first, *later]):
        assert after[: len(before)] == before
    assert kinds(later[1]).count("function_call_output") == 2
    assert kinds(later[1]).count("reasoning") == 2

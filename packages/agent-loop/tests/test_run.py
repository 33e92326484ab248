import pytest

from agent_loop import (
    AgentRun,
    AskApproval,
    CallModel,
    Decision,
    Failure,
    Finished,
    InvalidSettingError,
    LocalProtocolError,
    Message,
    ModelCallEnded,
    ModelDelta,
    ModelDone,
    RoundEnded,
    RoundStarted,
    RunTools,
    ShowText,
    TimeShort,
    ToolCall,
    ToolCallEnded,
    ToolCallFragment,
    ToolCallStarted,
    ToolResult,
    Usage,
)
from agent_tooling import ApprovalRules


QUESTION = (
    Message(role="system", content="Be brief."),
    Message(role="user", content="What is 2 + 2?"),
)


def build_run(**settings):
    return AgentRun(QUESTION, **{"maximum_iterations": 6, "tools": ("add",)} | settings)


def call(id_="c1", name="add", arguments='{"a": 2}'):
    return ToolCallFragment(call_id=id_, name=name, arguments=arguments)


def ask_tools(run, *calls, text=""):
    return (*run.feed(ModelDelta(text=text, tool_calls=calls or (call(),))), *run.feed(ModelDone()))


def answer(run, text="4", **rest):
    return (*run.feed(ModelDelta(text=text, **rest)), *run.feed(ModelDone()))


def text_of(events):
    return "".join(event.text for event in events if isinstance(event, ShowText))


def only(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_a_run_without_tools_calls_the_model_once_and_shows_its_answer():
    run = build_run()
    assert run.start() == (
        RoundStarted(round=1),
        CallModel(round=1, messages=QUESTION, tools=("add",)),
    )
    assert run.feed(ModelDelta(text="4")) == (ShowText(text="4"),)
    assert run.feed(ModelDone()) == (
        ModelCallEnded(round=1, text="4", tool_calls=(), usage=Usage()),
        RoundEnded(round=1, answer="4", results=(), usage=Usage()),
        Finished(reason="answered", rounds=1, usage=Usage(), answer="4", messages=run.messages),
    )
    assert run.state == "finished"


def test_a_tool_call_is_run_and_its_result_leads_to_the_next_request():
    run = build_run()
    run.start()
    wanted = ToolCall(call_id="c1", name="add", arguments='{"a": 2}')
    assert ask_tools(run, text="Adding.") == (
        ShowText(text="Adding."),
        ModelCallEnded(round=1, text="Adding.", tool_calls=(wanted,), usage=Usage()),
        ToolCallStarted(call=wanted),
        RunTools(calls=(wanted,)),
    )
    result = ToolResult(call_id="c1", content="4")
    assert run.feed(result) == (
        ToolCallEnded(call=wanted, result=result),
        RoundEnded(round=1, answer="Adding.", results=(result,), usage=Usage()),
        RoundStarted(round=2),
        CallModel(
            round=2,
            messages=(
                *QUESTION,
                Message(role="assistant", content="Adding.", tool_calls=(wanted,)),
                Message(role="tool", content="4", tool_call_id="c1", name="add"),
            ),
            tools=("add",),
        ),
    )


def test_what_the_models_client_keeps_is_the_runs_own_in_each_of_its_calls():
    run, other = build_run(), build_run()
    (_, first), (_, others) = run.start(), other.start()
    ask_tools(run)
    [second] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)

    first.kept["client"] = "built"
    assert second.kept == {"client": "built"}
    assert others.kept == {}
    assert first == others
    assert "built" not in repr(first)
    answer(run)
    assert second.kept == {}


def test_results_may_come_in_any_order_and_go_back_in_the_order_of_the_calls():
    run = build_run()
    run.start()
    ask_tools(run, call("c1"), call("c2"))
    assert only(run.feed(ToolResult(call_id="c2", content="second")), CallModel) == []
    [request] = only(run.feed(ToolResult(call_id="c1", content="first")), CallModel)
    assert [message.content for message in request.messages[-2:]] == ["first", "second"]


@pytest.mark.parametrize("shows_thoughts", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "<think>plan</think>I will add.",
        "<think>\n\u2063plan\n</think>",
        " \n<think>a</think>\n\n<think>b</think> Adding. ",
        "<think>left open",
    ],
)
def test_a_text_goes_back_as_it_came(text, shows_thoughts):
    """Clients of other providers rebuild a model's reasoning from it."""
    run = build_run(emit_intermediate_thoughts=shows_thoughts)
    run.start()
    ask_tools(run, text=text)
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert request.messages[2].content == text


def test_what_the_client_wants_back_travels_with_the_answer_and_the_last_snapshot_counts():
    run = build_run()
    run.start()
    run.feed(ModelDelta(opaque_body={"responses_output": [1]}))
    run.feed(ModelDelta(opaque_body={"responses_output": [1, 2]}))
    ask_tools(run)
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert request.messages[2].opaque_body == {"responses_output": [1, 2]}


def test_arguments_that_are_no_object_go_back_wrapped_in_one():
    run = build_run()
    run.start()
    ask_tools(run, call("c1", arguments='{"a": '), call("c2", arguments=""), call("c3"))
    run.feed(ToolResult(call_id="c1", error="it broke"))
    run.feed(ToolResult(call_id="c2", content=""))
    [request] = only(run.feed(ToolResult(call_id="c3", content="")), CallModel)
    assert [wanted.arguments for wanted in request.messages[2].tool_calls] == [
        '{"invalid_arguments": "{\\"a\\": "}',
        "{}",
        '{"a": 2}',
    ]


def test_the_last_call_is_made_with_the_same_tools_and_tool_choice_none():
    run = build_run(maximum_iterations=2, tool_choice="auto")
    run.start()
    ask_tools(run)
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert (request.tools, request.tool_choice, request.is_closing) == (("add",), "none", True)
    assert answer(run)[-1].reason == "maximum_iterations"


def test_a_model_without_tool_choice_gets_no_tools_in_its_closing_call():
    run = build_run(maximum_iterations=2, tool_choice="auto", has_tool_choice=False)
    [_, first] = run.start()
    assert (first.tools, first.tool_choice) == (("add",), None)
    ask_tools(run)
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert (request.tools, request.tool_choice) == ((), None)


def test_tools_asked_for_after_the_closing_call_are_refused_and_a_sentence_says_so():
    run = build_run(maximum_iterations=2)
    run.start()
    ask_tools(run)
    run.feed(ToolResult(call_id="c1", content="4"))
    events = ask_tools(run, call("c2"), text="Once more.")
    sentence = (
        "Maximum iteration limit (2) reached. Cannot call tool 'add'. "
        "Please consider increasing the iteration limit."
    )
    assert only(events, RunTools) == []
    assert text_of(events) == f"\nOnce more.\n{sentence}"
    assert [event.result for event in only(events, ToolCallEnded)] == [
        ToolResult(call_id="c2", error=sentence)
    ]
    assert events[-1].reason == "maximum_iterations"


def test_with_one_round_tools_run_and_their_results_are_shown():
    run = build_run(maximum_iterations=1, tool_choice="required")
    [_, request] = run.start()
    assert (request.tool_choice, request.is_closing) == ("required", False)
    assert only(ask_tools(run, call("c1"), call("c2"), text="Adding."), RunTools)
    run.feed(ToolResult(call_id="c2", content="five"))
    events = run.feed(ToolResult(call_id="c1", content="four"))
    assert text_of(events) == "\nfour\nfive"
    assert events[-1].reason == "maximum_iterations"


def test_with_one_round_and_empty_results_the_reader_is_told():
    run = build_run(maximum_iterations=1, emit_intermediate_thoughts=False)
    run.start()
    ask_tools(run)
    assert (
        text_of(run.feed(ToolResult(call_id="c1", content=""))) == "The model returned no answer."
    )


@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_forced_tool_choice_falls_back_to_auto_once_tools_have_run(choice):
    run = build_run(tool_choice=choice)
    [_, request] = run.start()
    assert request.tool_choice == choice
    ask_tools(run)
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert request.tool_choice == "auto"


@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_a_free_tool_choice_stays_as_it_is(choice):
    run = build_run(tool_choice=choice)
    run.start()
    ask_tools(run)
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert request.tool_choice == choice


def test_without_tools_there_is_no_tool_choice():
    [_, request] = build_run(tools=(), tool_choice="required").start()
    assert request.tool_choice is None


def test_calls_without_a_name_lead_to_no_round():
    run = build_run()
    run.start()
    events = ask_tools(run, call(name=""), text="Hm.")
    assert events[-1].reason == "answered"
    assert events[-1].rounds == 1


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize(
    "made",
    [
        [call(id_=""), call(id_="")],
        [call(id_="c1"), call(id_="c1", arguments='{"a": 3}')],
        [call(id_="c1"), call(id_="c1", name="sub")],
    ],
)
def test_each_call_without_an_id_of_its_own_is_made_asked_about_and_answered(made, asks):
    rules = ApprovalRules.parse({"add": "always", "sub": "always"} if asks else {})
    run = build_run(tools=("add", "sub"), approval_rules=rules)
    run.start()
    events = ask_tools(run, *made)
    waiting = only(events, AskApproval)
    if asks:
        [asked] = waiting
        assert len({one.key for one in asked.calls}) == len(asked.calls) == 2
        for one in asked.calls:
            events = run.feed(Decision(call_id=one.key, is_approved=True))
    [tools] = only(events, RunTools)
    ids = [one.call_id for one in tools.calls]
    assert len(set(ids)) == 2
    assert ids[0] == made[0].call_id or ids[0].startswith("call_")
    run.feed(ToolResult(call_id=ids[1], content="second"))
    [request] = only(run.feed(ToolResult(call_id=ids[0], content="first")), CallModel)
    said, *results = request.messages[-3:]
    assert said.role == "assistant"
    assert [one.call_id for one in said.tool_calls] == ids
    assert [(one.tool_call_id, one.content) for one in results] == [
        (ids[0], "first"),
        (ids[1], "second"),
    ]


def test_ids_of_ours_are_the_same_when_played_again_and_other_ones_in_each_round():
    """A durable run may read nothing random."""

    def play():
        run = build_run()
        run.start()
        for _ in range(2):
            [tools] = only(ask_tools(run, call(id_="")), RunTools)
            yield tools.calls[0].call_id
            run.feed(ToolResult(call_id=tools.calls[0].call_id, content="4"))

    ids = list(play())
    assert ids == list(play())
    assert len(set(ids)) == 2


def test_the_same_call_under_one_id_is_made_once():
    run = build_run()
    run.start()
    [tools] = only(ask_tools(run, call(), call(), call(arguments='{"a":2}')), RunTools)
    assert len(tools.calls) == 1


@pytest.mark.parametrize("broken", [[call(name="")], [call(name=" "), call(id_="c2", name="")]])
@pytest.mark.parametrize("maximum", [1, 3])
def test_an_answer_that_is_nothing_but_broken_calls_is_a_failure(broken, maximum):
    run = build_run(maximum_iterations=maximum)
    run.start()
    events = ask_tools(run, *broken, text=" ")
    told = "The model call of round 1 failed: its tool call has no name"
    assert (events[-1].reason, events[-1].error, events[-1].rounds) == ("error", told, 1)
    assert text_of(events).strip() == ""
    assert not events[-1].is_answered


def test_text_after_a_tool_call_is_shown_with_intermediate_thoughts_only():
    delta = ModelDelta(text=" behind", tool_calls=())
    shown, hidden = build_run(), build_run(emit_intermediate_thoughts=False)
    for run in (shown, hidden):
        run.start()
        assert text_of(run.feed(ModelDelta(text="before"))) == "before"
        run.feed(ModelDelta(tool_calls=(call(),)))
    assert text_of(shown.feed(delta)) == " behind"
    assert text_of(hidden.feed(delta)) == ""


def test_hidden_thoughts_leave_the_rest_streaming():
    run = build_run(emit_intermediate_thoughts=False)
    run.start()
    events = [run.feed(ModelDelta(text=text)) for text in ("<think>a", "b</think>", "\nyes", " no")]
    assert [text_of(event) for event in events] == ["", "", "yes", " no"]


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["a"], "<think>\nCalling a\n</think>"),
        (["a", "b", "c", "d"], "<think>\nCalling a, b, c...\n</think>"),
    ],
)
def test_a_silent_round_names_the_tools_that_it_calls(names, status):
    run = build_run()
    run.start()
    events = ask_tools(run, *(call(name, name) for name in names), text=" ")
    assert text_of(events) == f" {status}"


def test_a_silent_round_stays_silent_where_thoughts_are_hidden():
    run = build_run(emit_intermediate_thoughts=False)
    run.start()
    assert text_of(ask_tools(run)) == ""


def test_an_open_thought_is_closed_before_the_tools_run():
    run = build_run()
    run.start()
    events = ask_tools(run, text="<think>open")
    assert text_of(events) == "<think>open\n</think>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Let me see.\n<think>plan", "Let me see.\n<think>plan\n</think>"),
        ("Use the `<think>` tag.", "Use the `<think>` tag."),
        ("```\n<think>", "```\n<think>"),
    ],
)
def test_only_a_thought_inside_a_text_is_closed_before_the_tools_run(text, shown):
    run = build_run()
    run.start()
    assert text_of(ask_tools(run, text=text)) == shown
    run.feed(ToolResult(call_id="c1", content="4"))
    assert text_of(answer(run, text)) == f"\n{text}"


def test_what_rounds_show_stands_on_lines_of_its_own():
    run = build_run()
    run.start()
    ask_tools(run, text="Adding.")
    run.feed(ToolResult(call_id="c1", content="4"))
    assert text_of(answer(run)) == "\n4"


@pytest.mark.parametrize(
    ("finish_reason", "reason", "beginning"),
    [
        ("stop", "empty_answer", "The model returned"),
        ("length", "output_limit", "The model reached"),
    ],
)
def test_an_empty_answer_is_never_shown_as_nothing(finish_reason, reason, beginning):
    run = build_run(emit_intermediate_thoughts=False)
    run.start()
    events = answer(run, "<think>hm</think>", finish_reason=finish_reason)
    assert text_of(events).startswith(beginning)
    assert events[-1].reason == reason


def test_an_answer_cut_at_the_output_limit_says_so_in_the_reason():
    run = build_run()
    run.start()
    assert answer(run, "4 is", finish_reason="length")[-1].reason == "output_limit"


def test_short_time_makes_the_next_call_the_closing_one():
    run = build_run(maximum_iterations=1)
    assert run.feed(TimeShort()) == ()
    [_, request] = run.start()
    assert (request.tool_choice, request.is_closing) == ("none", True)
    events = ask_tools(run)
    assert text_of(events).endswith("Time limit reached. Cannot call tool 'add'.")
    assert events[-1].reason == "time_limit"


def test_short_time_lets_the_open_round_run_its_tools():
    run = build_run()
    run.start()
    run.feed(TimeShort())
    assert only(ask_tools(run), RunTools)
    run.feed(TimeShort())
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert request.is_closing
    assert answer(run)[-1].reason == "time_limit"


def test_a_failing_model_call_closes_what_is_open_and_keeps_what_was_shown():
    run = build_run()
    run.start()
    run.feed(ModelDelta(text="<think>pl", tool_calls=(call(),), usage=Usage(total_tokens=3)))
    usage = Usage(total_tokens=3)
    assert run.feed(Failure(message="It broke.")) == (
        ShowText(text="\n</think>"),
        ModelCallEnded(round=1, text="<think>pl", tool_calls=(), usage=usage, error="It broke."),
        RoundEnded(round=1, answer="", results=(), usage=usage, error="It broke."),
        Finished(
            reason="error",
            rounds=1,
            usage=usage,
            messages=QUESTION,
            error="It broke.",
            is_answered=False,
        ),
    )


def test_a_failure_while_tools_run_gives_each_open_call_its_result():
    run = build_run()
    run.start()
    ask_tools(run, call("c1"), call("c2"))
    run.feed(ToolResult(call_id="c2", content="done"))
    events = run.feed(Failure(message="Time is up.", reason="time_limit"))
    assert [event.result.call_id for event in only(events, ToolCallEnded)] == ["c1"]
    assert [result.call_id for result in only(events, RoundEnded)[0].results] == ["c1", "c2"]
    assert events[-1].reason == "time_limit"


def test_a_failure_before_the_start_ends_the_run_without_a_round():
    events = build_run().feed(Failure(message="No model."))
    assert events == (
        Finished(
            reason="error",
            rounds=0,
            usage=Usage(),
            messages=QUESTION,
            error="No model.",
            is_answered=False,
        ),
    )


def test_usage_is_summed_over_rounds_and_the_last_of_a_round_counts():
    run = build_run()
    run.start()
    run.feed(ModelDelta(usage=Usage(total_tokens=1)))
    run.feed(ModelDelta(usage=Usage(total_tokens=10)))
    ask_tools(run)
    run.feed(ToolResult(call_id="c1", content="4"))
    assert answer(run, usage=Usage(total_tokens=5))[-1].usage == Usage(total_tokens=15)


@pytest.mark.parametrize(
    "setting",
    [
        {"maximum_iterations": "3"},
        {"maximum_iterations": 2.5},
        {"maximum_iterations": True},
        {"max_request_bytes": "1000"},
        {"max_agent_depth": -1},
        {"budgets": {"max_cost": 1}},
        {"approval_rules": {"add": "always"}},
        {"answer_schema": '{"type": "object"}'},
        {"fallback": "another"},
        {"window": 272_000},
        {"allowed_tools": "add"},
    ],
    ids=str,
)
def test_a_setting_of_another_kind_is_refused_by_its_name(setting):
    [name] = setting
    with pytest.raises(InvalidSettingError, match=f"^{name} must be ") as caught:
        build_run(**{"model": "a", **setting})
    assert caught.value.setting == name


def test_a_maximum_under_one_is_refused():
    with pytest.raises(
        InvalidSettingError, match="maximum_iterations must be at least 1"
    ) as caught:
        build_run(maximum_iterations=0)
    assert caught.value.setting == "maximum_iterations"


@pytest.mark.parametrize(
    ("received", "trigger"),
    [
        (ModelDelta(text="x"), "delta"),
        (ModelDone(), "answer"),
        (ToolResult(call_id="c1", content=""), "tool_result"),
    ],
)
def test_a_run_that_has_not_started_takes_no_answers(received, trigger):
    run = build_run()
    with pytest.raises(LocalProtocolError) as caught:
        run.feed(received)
    assert (caught.value.state, caught.value.received) == ("ready", trigger)
    assert run.start() == build_run().start()


def test_a_result_of_no_open_call_is_refused_and_changes_nothing():
    run = build_run()
    run.start()
    ask_tools(run, call("c1"), call("c2"))
    run.feed(ToolResult(call_id="c1", content="first"))
    for call_id in ("c1", "other"):
        with pytest.raises(LocalProtocolError, match=repr(call_id)):
            run.feed(ToolResult(call_id=call_id, content="again"))
    [request] = only(run.feed(ToolResult(call_id="c2", content="second")), CallModel)
    assert [message.content for message in request.messages[-2:]] == ["first", "second"]


def test_a_finished_run_takes_nothing():
    run = build_run()
    run.start()
    answer(run)
    for received in (ModelDelta(), ModelDone(), TimeShort(), Failure(message="late")):
        with pytest.raises(LocalProtocolError):
            run.feed(received)
    with pytest.raises(LocalProtocolError):
        run.start()


def test_the_callers_messages_and_tools_are_never_changed():
    messages, tools = list(QUESTION), ["add"]
    run = AgentRun(messages, tools=tools, maximum_iterations=3)
    run.start()
    ask_tools(run)
    run.feed(ToolResult(call_id="c1", content="4"))
    assert (messages, tools) == (list(QUESTION), ["add"])


def test_what_comes_in_one_piece_with_calls_is_hidden_where_thoughts_are():
    """A model that does not stream says everything at once."""
    run = build_run(emit_intermediate_thoughts=False)
    run.start()
    assert text_of(ask_tools(run, text="Let me add. ")) == ""
    [request] = only(run.feed(ToolResult(call_id="c1", content="4")), CallModel)
    assert request.messages[2].content == "Let me add. "


def test_what_comes_in_one_piece_with_calls_is_shown_in_the_last_round():
    run = build_run(emit_intermediate_thoughts=False, maximum_iterations=1)
    run.start()
    assert text_of(ask_tools(run, text="Let me add.")) == "Let me add."


@pytest.mark.parametrize(("emits", "shown"), [(True, "I look it up."), (False, "")])
def test_commentary_is_shown_only_with_thoughts(emits, shown):
    run = build_run(emit_intermediate_thoughts=emits)
    run.start()
    said = run.feed(ModelDelta(text="I look it up.", phase="commentary"))
    assert text_of([*said, *ask_tools(run)]).partition("<")[0] == shown


def test_commentary_stays_hidden_beside_an_answer():
    run = build_run(emit_intermediate_thoughts=False)
    run.start()
    run.feed(ModelDelta(text="I know that.", phase="commentary"))
    assert text_of(run.feed(ModelDelta(text="4", phase="final_answer"))) == "4"
    assert text_of(run.feed(ModelDone())) == ""


def test_commentary_is_the_answer_where_there_is_no_other():
    run = build_run(emit_intermediate_thoughts=False)
    run.start()
    run.feed(ModelDelta(text="It is", phase="commentary"))
    run.feed(ModelDelta(text=" 4 <", phase="commentary"))
    events = run.feed(ModelDone())
    assert text_of(events) == "It is 4 <"
    assert events[-1].reason == "answered"


def test_commentary_of_the_last_round_is_shown():
    run = build_run(emit_intermediate_thoughts=False, maximum_iterations=1)
    run.start()
    assert text_of(run.feed(ModelDelta(text="It is 4.", phase="commentary"))) == "It is 4."


def test_tools_are_offered_before_a_run_starts_and_not_after():
    run = AgentRun(QUESTION, maximum_iterations=1)
    assert not run.has_closing_call
    run.offer(["add"])
    assert run.tools == ("add",)
    [*_, request] = run.start()
    assert request.tools == ("add",)
    with pytest.raises(LocalProtocolError, match="before a run starts"):
        run.offer([])


@pytest.mark.parametrize("maximum_iterations", [1, 2, 6])
def test_a_tools_name_is_shown_redacted_wherever_the_run_says_it(maximum_iterations):
    run = build_run(
        maximum_iterations=maximum_iterations, redact=lambda name: name.replace("secret", "***")
    )
    events = [*run.start(), *ask_tools(run, call("c1", "secret_a"), call("c2", "secret_b"))]
    events += run.feed(ToolResult(call_id="c1", error="late", is_unfinished=True))
    events += run.feed(ToolResult(call_id="c2", content="4"))
    if maximum_iterations == 2:
        events += ask_tools(run, call("c3", "secret_c"))
    elif maximum_iterations > 2:
        events += run.feed(Failure(message="It broke.", reason="time_limit"))
    shown = text_of(events)
    assert "***_a" in shown
    assert "secret" not in shown
    assert only(events, ToolCallStarted)[0].call.name == "secret_a"


@pytest.mark.parametrize("maximum_iterations", [1, 6])
@pytest.mark.parametrize(
    "content",
    [
        "a secret",
        ({"type": "text", "text": "a secret"},),
        "x" * 994 + "secret",
        " " * 999 + "secret",
    ],
)
def test_what_tools_have_answered_is_shown_redacted(maximum_iterations, content):
    run = build_run(
        maximum_iterations=maximum_iterations, redact=lambda text: text.replace("secret", "***")
    )
    events = [*run.start(), *ask_tools(run, call("c1"))]
    events += run.feed(ToolResult(call_id="c1", content=content))
    if maximum_iterations > 1:
        assert run.messages[-1].content == content
        events += run.feed(Failure(message="It broke.", reason="time_limit"))
    assert "sec" not in text_of(events)
    assert only(events, Finished)[0].messages[-1].content == content


def test_what_is_for_others_than_the_model_is_handed_on_once_and_not_kept():
    run = build_run()
    cause = OSError("secret")
    events = [*run.start(), *ask_tools(run)]
    events += run.feed(ToolResult(call_id="c1", error="late", artifact=["a file"], cause=cause))
    [ended], [round_ended] = only(events, ToolCallEnded), only(events, RoundEnded)
    assert (ended.result.artifact, ended.result.cause) == (["a file"], cause)
    assert "a file" not in repr(events)
    assert "secret" not in repr(events)
    [kept] = round_ended.results
    assert (kept.artifact, kept.cause, kept.content) == (None, None, "late")


def test_only_the_last_results_are_told_of_a_run_without_an_answer():
    run = build_run(maximum_iterations=99)
    run.start()
    for number in range(23):
        ask_tools(run, call(f"c{number}"))
        run.feed(ToolResult(call_id=f"c{number}", content=f"result {number};"))
    shown = text_of(run.feed(Failure(message="It broke.", reason="cancelled")))
    assert "- (3 earlier results)\n" in shown
    assert "result 2;" not in shown
    assert shown.count("- add: ") == 20

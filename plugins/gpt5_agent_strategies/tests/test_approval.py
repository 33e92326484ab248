"""Calls that wait for the user's leave: the question ends the turn, the next message answers it."""

import asyncio
import json
import random
import time
import zlib
from pathlib import Path

import pytest

from agent_tooling import unique_tool_names
from dify_plugin_host import BackwardsError, CallOrigin
from file_server import BLIND, PDF, SEES
from scripted_dify import build_parameters, call, chunk, parameter, text_message, tool, usage


RULES = '{"pay": "always"}'
NAMES = ["a.pdf", "b.pdf"]
PAY = tool("pay", parameter("to"))


class Storage:
    """Dify's storage, which notes what was done to it."""

    def __init__(self):
        self.values = {}
        self.done = []
        self.problem = None
        self.both = None  # A barrier before the question is given out.
        self.is_full = False  # The daemon writes, and tells then.

    async def answer_in_turn(self, request):
        if self.both is not None and request["opt"] == "get" and "claim" not in request["key"]:
            await self.both.wait()
        return self.answer(request)

    def answer(self, request):
        if self.problem:
            raise BackwardsError(self.problem)
        key, option = request["key"], request["opt"]
        self.done.append(option)
        match option:
            case "set":
                self.values[key] = request["value"]
                if self.is_full:
                    raise BackwardsError("allocated size is greater than max storage size")
                return {"data": "ok"}
            case "get":
                return {"data": self.values[key]}
            case "del":
                self.values.pop(key, None)  # As object stores do, which find nothing wrong.
                return {"data": "ok"}
        return {"data": key in self.values}


def give_storage(agent, storage):
    dify, answer = agent.dify, agent.dify.answer

    async def answer_all(request):
        if request.type == "storage":
            yield await storage.answer_in_turn(request.request)
            return
        if request.type == "tool":
            storage.done.append(f"called {request.request['tool']}")
        async for item in answer(request):
            yield item

    dify.answer = answer_all
    dify.model = [
        [chunk("I pay.", calls=[call("pay", '{"to": "Ann"}')], usage=usage())],
        [chunk("Done.", usage=usage())],
    ]
    dify.tools["pay"] = [text_message("paid")]
    return storage


@pytest.fixture
def storage(agent):
    return give_storage(agent, Storage())


def turn(agent, query, **given):
    return agent.run_async(take_turn(agent, query, **given))


async def take_turn(
    agent,
    query,
    *,
    conversation="c",
    user="u",
    history=(),
    strategy="function_calling",
    model=SEES,
    **given,
):
    given.setdefault("approval_rules", RULES)
    given.setdefault("tools", [PAY])
    parameters = build_parameters(
        query=query, model={**model, "history_prompt_messages": list(history)}, **given
    )
    stream = agent.process.invoke(
        "agent_strategy",
        "invoke_agent_strategy",
        {
            "agent_strategy_provider": "gpt5_agent_strategies",
            "agent_strategy": f"gpt5_{strategy}",
            "agent_strategy_params": parameters,
        },
        user_id=user,
        origin=CallOrigin(conversation_id=conversation, app_id="a"),
    )
    return [message async for message in stream]


def text(messages):
    return "".join(m["message"]["text"] for m in messages if m["type"] == "text")


def final_answer(messages):
    return "".join(m["message"]["variable_value"] for m in messages if m["type"] == "variable")


def logs(messages):
    return {m["message"]["label"]: m["message"]["data"] for m in messages if m["type"] == "log"}


def figures(messages):
    [found] = [m["message"]["json_object"] for m in messages if m["type"] == "json"]
    return found["execution_metadata"]


def why_not_taken_up(messages):
    label = "The question for approval in an earlier turn is not taken up"
    [log] = [
        m["message"] for m in messages if m["type"] == "log" and m["message"]["label"] == label
    ]
    [why] = log["data"]["why"]
    return why


FULL_WIDTH = {ord(letter): ord(letter) + 0xFEE0 for letter in "0123456789abcdef"}


def code_of(messages):
    return text(messages)[-8:]


def said(messages):
    return [
        {"role": "user", "content": "Pay Ann."},
        {"role": "assistant", "content": text(messages), "tool_calls": []},
    ]


@pytest.mark.parametrize(
    ("strategy", "yes", "question"),
    [
        ("function_calling", "Yes!", "Approval needed for these calls:"),
        ("react", "はい。", "Approval needed"),
        ("function_calling", " 同意 ", "Approval needed"),
    ],
)
def test_the_turn_ends_with_the_question_and_a_yes_makes_the_call(
    agent, storage, strategy, yes, question
):
    asked = turn(agent, "Pay Ann.", strategy=strategy)
    assert question in text(asked)
    assert '- pay: {"to": "Ann"}' in text(asked)
    assert final_answer(asked) == text(asked)[text(asked).index("Approval needed") :]
    assert figures(asked)["stop_reason"] == "approval"
    assert agent.dify.tool_requests == []

    answered = turn(agent, yes, history=said(asked), strategy=strategy)

    assert text(answered).endswith("Done.")
    assert final_answer(answered) == "Done."
    assert [request["tool"] for request in agent.dify.tool_requests] == ["pay"]
    assert storage.done.index("del") < storage.done.index("called pay")
    assert storage.values == {}
    assert figures(asked)["total_tokens"] == figures(answered)["total_tokens"] == 15
    assert agent.dify.model_requests[1]["prompt_messages"][-1]["content"] == "paid"


ENGLISH = ("yes", "y", "approve")
ALL = ("approved", "是", "是的", "同意", "批准", "はい", "承認", "承認します")


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    ("query", "last", "others"),
    [
        ("Bitte Ann bezahlen.", "approved", ()),
        ("앤에게 지불해 주세요.", "承認します", ALL),
        ("Págale a Ana.", "承認します", ALL),
        ("给安付款。", None, ()),
    ],
)
def test_whoever_is_asked_in_a_foreign_language_reads_the_words_that_count(
    agent, query, last, others
):
    asked = text(turn(agent, query))
    words = ", ".join([*ENGLISH, *others][:-1] if others else ENGLISH)
    assert (f"The words that count are {words} and {last}." in asked) is bool(last)


@pytest.mark.usefixtures("storage")
def test_the_question_shows_no_argument_that_the_form_has_set_and_that_is_not_used(agent):
    pay = tool(
        "pay",
        parameter("to"),
        parameter("amount", "number", form="form"),
        runtime_parameters={"amount": 5000},
    )
    agent.dify.model[0] = [chunk(calls=[call("pay", '{"to": "Ann", "amount": 1}')])]
    asked = turn(agent, "Pay Ann.", tools=[pay])
    assert '- pay: {"to": "Ann"}' in text(asked)


@pytest.mark.usefixtures("storage")
def test_each_call_is_shown_whole_as_the_tool_gets_it_by_the_name_that_dify_shows(agent):
    text_ = parameter("text")
    secret = parameter("key", "secret-input", form="form")
    pay = tool("支付", text_, parameter("amount", "number", default=7), secret)
    pay["runtime_parameters"] = {"key": "hush-hush"}
    others = [tool("send", text_, provider=f"someone/{name}/{name}") for name in ("a", "b")]
    [name] = unique_tool_names([pay])
    long = "x" * 19_000
    agent.dify.model[0] = [
        chunk(
            calls=[
                call(name, '{"text":"\\u652f\\n","amount":"8"}'),
                call("a_send", json.dumps({"text": long}), id_="c2"),
                call(name, '{"text": "hush-hush"}', id_="c3"),
            ]
        )
    ]
    asked = turn(agent, "Pay Ann.", tools=[pay, *others], approval_rules='{"*": "always"}')
    shown = text(asked).partition("~~~\n")[2].partition("\n~~~")[0]
    assert shown.split("\n") == [
        '- 支付: {"text": "支\\n", "amount": 8}',
        f'- send (a_send): {{"text": "{long}"}}',
        '- 支付: {"text": "[redacted]", "amount": 7}',
    ]


OPENERS = {
    "a comment": ("<!-- ", "&lt;!-- \n\n"),
    "a hidden element": ("<div hidden>", "&lt;div hidden>\n\n"),
    "a fence": ("```html\n<b>", "```html\n<b>\n```\n\n"),
    "another fence": ("~~~~\n<b>\n", "~~~~\n<b>\n~~~~\n\n"),
    "a thought": ("<think>\n```\nplan", "<think>\n```\nplan"),
    "a tag in a sentence": ("The <think> tag", "The &lt;think> tag\n\n"),
    "a tag in a fence": ("```\na<think>```", "```\na< think>```\n"),
    "code": ("Use `<b> or\n<i>", "Use `<b> or `\n&lt;i>\n\n"),
}


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("rounds", [1, 2], ids=["this round", "an earlier round"])
@pytest.mark.parametrize("opener", OPENERS.values(), ids=OPENERS)
def test_nothing_that_the_model_has_said_hides_the_question(agent, opener, rounds):
    said_, shown = opener
    ask = [chunk(calls=[call("pay", '{"to": "Ann"}')])]
    look = [chunk(calls=[call("look")])]
    agent.dify.model = [[chunk(letter) for letter in said_] + (ask if rounds == 1 else look), ask]
    agent.dify.tools["look"] = [text_message("seen")]
    asked = text(turn(agent, "Pay Ann.", tools=[PAY, tool("look")]))
    before, found, _ = asked.partition("Approval needed")
    assert found
    assert before.startswith(shown.rstrip("\n"))
    assert before.endswith("\n\n")
    assert before.count("<think>") == before.count("</think>")


@pytest.mark.usefixtures("storage")
def test_an_answer_by_a_schema_is_shown_as_it_is_and_any_other_escaped(agent):
    agent.dify.model = [[chunk('{"city": "<b>"}')], [chunk("<b>")]]
    schema = '{"required": ["city"]}'
    assert text(turn(agent, "Where?", answer_schema=schema)) == '{"city": "<b>"}'
    escaped = turn(agent, "Where?")
    assert (text(escaped), final_answer(escaped)) == ("&lt;b>", "<b>")


HIDES = {
    "a tag": ("<!--", "\\u003c!--"),
    "bidi": ("\u202e", "\\u202e"),
    "no width": ("\u200b\U000e0041", "\\u200b\\udb40\\udc41"),
    "a filler": ("\u3164\ufe0f\u180b\u17b4", "\\u3164\\ufe0f\\u180b\\u17b4"),
    "a space": ("\u00a0\u3000", "\\u00a0\u3000"),
    "a control character": ("\x7f", "\\u007f"),
    "code": ("`x` ```\n~~~", "`x` ``\\u0060\\n~~~"),
    "a formula": ("\\[x\\)", "\\\\\\u005bx\\\\\\u0029"),
    "a picture": ("![x](http://x/y)", "!\\u005bx](http://x/y)"),
    "a mark": ("CODE_BLOCK_PLACEHOLDER", "CODE\\u005fBLOCK_PLACEHOLDER"),
}


@pytest.mark.usefixtures("storage")
def test_nothing_in_a_call_is_shown_otherwise_or_not_at_all(agent):
    arguments = {name: value for name, (value, _) in HIDES.items()}
    pay = tool("pay", *map(parameter, arguments))
    agent.dify.model[0] = [chunk(calls=[call("pay", json.dumps(arguments))])]
    asked = text(turn(agent, "Pay Ann.", tools=[pay]))
    [line] = [line for line in asked.split("\n") if line.startswith("- pay: ")]
    assert json.loads(line.removeprefix("- pay: ")) == arguments
    for name, (_, shown) in HIDES.items():
        assert f'"{name}": "{shown}"' in line


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    "answer", ["no", "拒否します。", "Yes, but only 5 euros", "ok", "いいえ", "What is it?"]
)
def test_anything_but_a_yes_denies_the_call_and_the_model_reads_it(agent, answer):
    asked = turn(agent, "Pay Ann.")

    turn(agent, answer, history=said(asked))

    assert agent.dify.tool_requests == []
    told = agent.dify.model_requests[1]["prompt_messages"][-1]["content"]
    assert "did not approve" in told
    assert (f"They said: {answer}" in told) == (answer not in {"no", "拒否します。", "いいえ"})


def test_an_answer_counts_only_right_behind_the_question_and_for_its_own_conversation(
    agent, storage
):
    asked = turn(agent, "Pay Ann.")
    agent.dify.model = [[chunk("Yes what?")], [chunk("Yes what?")]]

    assert text(turn(agent, "yes", conversation="other", history=said(asked))) == "Yes what?"
    later = [*said(asked), {"role": "assistant", "content": "Other things.", "tool_calls": []}]
    gone_on = turn(agent, "yes", history=later)
    assert text(gone_on) == "Yes what?"
    assert why_not_taken_up(gone_on) == "the conversation has gone on without an answer to it"
    assert (agent.dify.tool_requests, storage.values) == ([], {})


@pytest.mark.usefixtures("storage")
def test_the_words_that_led_to_a_question_do_not_answer_it_where_nothing_is_remembered(agent):
    turn(agent, "yes")
    agent.dify.model = [[chunk(calls=[call("pay", '{"to": "Ann"}')])]]

    again = turn(agent, "yes")

    assert "Approval needed" in text(again)
    assert agent.dify.tool_requests == []
    assert len(agent.dify.model_requests[1]["prompt_messages"]) == 2  # Begun anew, not denied.


@pytest.mark.parametrize(
    ("query", "yes", "needs_code"),
    [
        ("Pay Ann.", "Approve {code}", "please answer with the code"),
        ("付款给 Ann", "是，{code}。", "请连同编号回答"),  # noqa: RUF001 - full width
        ("アンに払って", "はい{wide}！", "コードを添えて"),  # noqa: RUF001 - full width
    ],
)
def test_where_nothing_is_remembered_a_yes_needs_the_code(agent, storage, query, yes, needs_code):
    asked = turn(agent, query)
    code = code_of(asked)
    yes = yes.format(code=code, wide=code.translate(FULL_WIDTH))
    for bare in ("yes", "是", "はい。", "yes 00000000"):
        again = turn(agent, bare)
        assert text(again).endswith(text(asked).removeprefix("I pay."))
        assert needs_code in text(again)
        assert final_answer(again) == text(again)
        assert figures(again)["stop_reason"] == "approval"
    assert (agent.dify.tool_requests, len(agent.dify.model_requests)) == ([], 1)

    assert text(turn(agent, yes)).endswith("Done.")
    assert [request["tool"] for request in agent.dify.tool_requests] == ["pay"]
    assert storage.values == {}


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    ("yes", "counts"), [("YES, {code}.", True), ("“是 {code}”", True), ("yes 00000000", False)]
)
def test_where_the_conversation_is_remembered_a_code_may_stand_behind_the_yes(agent, yes, counts):
    asked = turn(agent, "Pay Ann.")

    turn(agent, yes.format(code=code_of(asked)), history=said(asked))

    assert [request["tool"] for request in agent.dify.tool_requests] == ["pay"] * counts


@pytest.mark.parametrize("is_remembered", [True, False])
def test_of_two_yeses_at_the_same_moment_one_makes_the_call(agent, storage, is_remembered):
    asked = turn(agent, "Pay Ann.")
    agent.dify.model = [[chunk("Done.")], [chunk("Done.")]]
    yes, history = f"yes {code_of(asked)}", said(asked) if is_remembered else ()

    async def say_it_twice():
        storage.both = asyncio.Barrier(2)
        turns = [take_turn(agent, yes, history=history) for _ in range(2)]
        return await asyncio.gather(*turns)

    answers = agent.run_async(say_it_twice())

    assert [request["tool"] for request in agent.dify.tool_requests] == ["pay"]
    assert [text(answer) for answer in answers] == ["Done.", "Done."]
    [late] = [answer for answer in answers if "Approval decided" not in logs(answer)]
    assert why_not_taken_up(late) == "another message has answered it already"
    assert storage.values == {}


def test_a_question_can_be_answered_where_the_storage_is_full(agent, storage):
    asked = turn(agent, "Pay Ann.")
    storage.is_full = True

    assert text(turn(agent, "yes", history=said(asked))) == "Done."
    assert (storage.done.count("called pay"), storage.values) == (1, {})


@pytest.mark.parametrize("failing", ["set", "del"])
def test_a_question_that_cannot_be_taken_stays_until_the_storage_is_back(agent, storage, failing):
    asked = turn(agent, "Pay Ann.")
    keep = storage.answer

    def fail(request):
        if request["opt"] == failing:
            raise BackwardsError("the storage is away")
        return keep(request)

    storage.answer = fail
    with pytest.raises(Exception, match="the storage is away"):
        turn(agent, "yes", history=said(asked))
    assert agent.dify.tool_requests == []
    storage.answer = keep

    assert text(turn(agent, "yes", history=said(asked))) == "Done."
    assert storage.done.count("called pay") == 1


def test_of_two_yeses_in_two_processes_one_at_most_makes_the_call(agent, configured_agent, storage):
    asked = turn(agent, "Pay Ann.")
    give_storage(configured_agent, storage)
    both = (agent, configured_agent)
    for each in both:
        each.dify.model = [[chunk("Done.")], [chunk("Done.")]]

    async def say_it_twice():
        storage.both = asyncio.Barrier(2)
        await asyncio.gather(*(take_turn(each, "yes", history=said(asked)) for each in both))

    agent.run_async(say_it_twice())

    assert storage.done.count("called pay") <= 1


SECRET = parameter("key", "secret-input", form="form")
TO = parameter("to", input_schema={"type": "string"})
HELD = tool("pay", TO, SECRET, runtime_parameters={"key": "k-123456789"})


@pytest.mark.parametrize(
    "change",
    [
        {"credential_id": "other"},
        {"provider_type": "api"},
        {"identity": {**HELD["identity"], "provider": "someone/else/else"}},
        {"runtime_parameters": {"key": "k-987654321"}},
        {"runtime_parameters": {}, "parameters": [TO, {**SECRET, "default": "k"}]},
        {"parameters": [{**TO, "default": "Bob"}, SECRET]},
    ],
    ids=["credential", "type", "provider", "form", "default", "shown default"],
)
def test_a_call_of_a_tool_that_was_changed_since_the_question_is_not_made(agent, storage, change):
    other = tool("look", parameter("at"))
    calls = [call("pay", '{"to": "Ann"}'), call("look", '{"at": "it"}', id_="c2")]
    agent.dify.model[0] = [chunk(calls=calls)]
    agent.dify.tools["look"] = [text_message("seen")]
    given = {"approval_rules": '{"*": "always"}', "tools": [HELD, other]}
    asked = turn(agent, "Pay Ann.", **given)
    [stored] = storage.values.values()
    assert b"k-123456789" not in zlib.decompress(bytes.fromhex(stored))

    given["tools"] = [{**HELD, **change}, other]
    answered = turn(agent, "yes", history=said(asked), **given)

    assert [request["tool"] for request in agent.dify.tool_requests] == ["look"]
    told = [m["content"] for m in agent.dify.model_requests[1]["prompt_messages"][-2:]]
    assert told[0].startswith("tool invoke error: pay was changed after the user was asked")
    assert told[1] == "seen"
    assert text(answered).startswith("Not called, because it was changed after you were asked")
    assert text(answered).split()[-2:] == ["pay", "Done."]
    assert logs(answered)["Approval decided"]["changed"] == ["pay"]


@pytest.mark.usefixtures("storage")
def test_a_tool_that_was_found_and_has_another_default_since_is_not_called_and_named_safely(agent):
    others = [tool(f"tool_{number}") for number in range(40)]
    ann, bob = (tool("<b>[pay](http://x/y)", parameter("to", default=to)) for to in ("Ann", "Bob"))
    [name] = unique_tool_names([ann])
    found = json.dumps({"name": name, "arguments": {}})
    agent.dify.model[0] = [chunk(calls=[call("call_tool", found)])]
    given = {"approval_rules": '{"*": "always"}', "tool_search": True}
    asked = turn(agent, "Pay.", tools=[ann, *others], **given)
    assert '{"to": "Ann"}' in text(asked)

    answered = turn(agent, "yes", history=said(asked), tools=[bob, *others], **given)

    assert agent.dify.tool_requests == []
    assert "settings): \\u003cb>\\u005bpay](http://x/y)\n" in text(answered)


@pytest.mark.usefixtures("storage")
def test_one_more_iteration_or_another_budget_refuses_no_question_that_waits(agent):
    asked = turn(agent, "Pay Ann.", max_total_tokens=1_000)

    answered = turn(agent, "yes", history=said(asked), maximum_iterations=7, max_total_tokens=2_000)

    assert text(answered) == "Done."
    assert [request["tool"] for request in agent.dify.tool_requests] == ["pay"]


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    ("reply", "decision", "reason"),
    [("yes", "approved", "yes"), ("Not so much", "denied", "Not so much")],
)
def test_the_log_says_what_was_asked_and_who_has_decided_what_when_and_why(
    agent, reply, decision, reason
):
    asked = turn(agent, "Pay Ann.", user="ann")
    answered = turn(agent, reply, user="ann", history=said(asked))

    question, decided = logs(asked)["Approval asked"], logs(answered)["Approval decided"]
    assert (question["calls"], question["asked"]) == (["pay"], "ann")
    assert question["code"] == decided["code"] == code_of(asked)
    assert (decided["decision"], decided["by"], decided["reason"]) == (decision, "ann", reason)
    times = [question["asked_at"], decided["decided_at"], question["open_until"]]
    assert sorted(times) == times
    assert "Only the user who asked can answer." in text(asked)


def test_a_log_without_contents_says_that_somebody_has_decided(configured_agent):
    give_storage(configured_agent, Storage())
    asked = turn(configured_agent, "Pay Ann.")
    decided = logs(turn(configured_agent, "Not Ann", history=said(asked)))["Approval decided"]
    assert (decided["decision"], decided["calls"], decided["by"]) == ("denied", 1, "u")
    assert "Ann" not in json.dumps(decided)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda _: "00", "what lay in Dify's storage cannot be read"),
        (
            lambda stored: change_stored(stored, "snapshot", "Ann", "Bob"),
            "snapshot.signature: it was changed since it was signed",
        ),
        (
            lambda stored: change_stored(stored, "question", "pay", "idle"),
            "what lay in Dify's storage was changed since",
        ),
    ],
    ids=["broken", "forged", "another tool"],
)
def test_what_lies_in_the_storage_and_was_changed_is_not_resumed(agent, storage, change, why):
    asked = turn(agent, "Pay Ann.")
    [key] = storage.values
    storage.values[key] = change(storage.values[key])
    agent.dify.model = [[chunk("Yes what?")]]

    answered = turn(agent, "yes", history=said(asked))

    assert text(answered) == "Yes what?"
    assert why_not_taken_up(answered) == why
    assert agent.dify.tool_requests == []


def change_stored(stored, key, old, new):
    kept = json.loads(zlib.decompress(bytes.fromhex(stored)))
    kept[key] = json.loads(json.dumps(kept[key]).replace(old, new))
    return zlib.compress(json.dumps(kept).encode()).hex()


@pytest.mark.parametrize(
    ("query", "notice"),
    [
        ("yes", "saved before this plugin was updated"),
        ("是", "在插件更新之前保存的"),
        ("はい", "プラグインの更新前に保存された"),
    ],
)
def test_a_question_from_before_an_update_has_to_be_asked_again(agent, storage, query, notice):
    asked = turn(agent, "Pay Ann.")
    [key] = storage.values
    stored = storage.values[key]
    storage.values[key] = change_stored(stored, "snapshot", 'version\\":3', 'version\\":1')
    agent.dify.model = [[chunk("Hello.")]]

    answered = turn(agent, query, history=said(asked))

    assert notice in text(answered)
    assert text(answered).endswith("\n\nHello.")
    assert "1 is of an earlier release" in why_not_taken_up(answered)
    assert agent.dify.tool_requests == []


def test_an_answer_that_comes_too_late_is_an_ordinary_message(limited_agent):
    agent = limited_agent
    give_storage(agent, Storage())
    agent.dify.model = [[chunk(calls=[call("pay", '{"to": "Ann"}')])], [chunk("Late.")]]
    asked = turn(agent, "付款给 Ann")
    assert "以下调用需要您批准" in text(asked)
    time.sleep(1.1)

    late = turn(agent, "是", history=said(asked))

    assert text(late) == "Late."
    assert "it expired" in why_not_taken_up(late)


@pytest.mark.usefixtures("storage")
def test_a_question_is_no_answer_by_the_schema(agent):
    agent.dify.model[1] = [chunk('{"city": "Rome"}', usage=usage())]
    settings = {"answer_schema": '{"required": ["city"]}', "max_total_tokens": 1_000}

    asked = turn(agent, "Pay Ann.", **settings)
    answered = turn(agent, "yes", history=said(asked), **settings)

    assert "Approval needed" in text(asked)
    assert [use["used"] for use in figures(asked)["budgets"]] == [15]  # And no other JSON.
    value, _ = [m["message"]["json_object"] for m in answered if m["type"] == "json"]
    assert value == {"city": "Rome"}


@pytest.mark.usefixtures("storage")
def test_a_model_that_has_taken_over_is_told_once_and_goes_on_after_the_pause(agent):
    agent.dify.model.insert(0, [BackwardsError("rate limit")])
    first = build_parameters()["model"]
    second = {"fallback_model": {**first, "model": "second"}}

    asked = turn(agent, "Pay Ann.", **second)
    answered = turn(agent, "yes", history=said(asked), **second)

    assert [request["model"] for request in agent.dify.model_requests][1:] == ["second"] * 2
    assert len(figures(asked)["models"]) == len(figures(answered)["models"]) - 1
    told = "Another model takes over, because the first has failed"
    labels = [m["message"]["label"] for m in (*asked, *answered) if m["type"] == "log"]
    assert labels.count(told) == 1


SEND = {"approval_rules": '{"send": "always"}', "tools": [tool("send", parameter("doc", "file"))]}


def ask_to_send(agent, give, data=PDF, arguments='{"doc": "a.pdf"}', model=SEES):
    files = [give(name, data, kind="document", mime_type="application/pdf") for name in NAMES]
    agent.dify.model = [[chunk(calls=[call("send", arguments)])], [chunk("Sent.")]]
    agent.dify.tools["send"] = [text_message("sent")]
    return turn(agent, "Send it.", files=files, model=model, **SEND)


@pytest.mark.parametrize("is_dead", [False, True], ids=["link lives", "link has ended"])
def test_a_file_that_the_model_has_chosen_is_there_when_the_call_is_approved(
    agent, storage, give, server, is_dead
):
    asked = ask_to_send(agent, give)
    if is_dead:
        server.files.clear()
        agent.dify.uploads = f"{server.url}/upload"

    answered = turn(agent, "yes", history=said(asked), **SEND)

    assert text(answered).endswith("Sent.")
    [request] = agent.dify.tool_requests
    sent = request["tool_parameters"]["doc"]
    assert (sent["filename"], sent["mime_type"]) == ("a.pdf", "application/pdf")
    assert [PDF in uploaded for uploaded in server.uploads] == [True] * is_dead
    assert storage.values == {}


@pytest.mark.parametrize("given", [(SEES, 1_200_000), (BLIND, 1_500_000)], ids=["seen", "not seen"])
def test_where_there_is_no_room_for_all_files_the_bytes_of_the_chosen_ones_are_kept(
    agent, storage, give, server, given
):
    model, size = given
    data = random.Random(1).randbytes(size)
    asked = ask_to_send(agent, give, data, model=model)
    server.files.clear()
    agent.dify.uploads = f"{server.url}/upload"

    turn(agent, "yes", history=said(asked), **SEND)

    [uploaded] = server.uploads
    assert data in uploaded
    assert storage.values == {}


@pytest.mark.usefixtures("storage")
def test_where_there_is_no_room_for_any_bytes_the_link_is_all_there_is(agent, give):
    data = random.Random(1).randbytes(2_700_000)
    asked = ask_to_send(agent, give, data, model=BLIND)

    turn(agent, "yes", history=said(asked), **SEND)

    [request] = agent.dify.tool_requests
    assert request["tool_parameters"]["doc"]["size"] == len(data)


def test_files_that_were_changed_in_the_storage_are_not_taken(agent, storage, give):
    asked = ask_to_send(agent, give)
    [key] = storage.values
    storage.values[key] = change_stored(
        storage.values[key], "question", "application/pdf", "text/plain"
    )
    agent.dify.model = [[chunk("Yes what?")]]

    answered = turn(agent, "yes", history=said(asked), **SEND)

    assert why_not_taken_up(answered) == "what lay in Dify's storage was changed since"
    assert agent.dify.tool_requests == []


def test_where_the_question_cannot_be_kept_the_call_is_denied_and_the_run_goes_on(agent, storage):
    storage.is_full = True

    done = turn(agent, "Pay Ann.")

    assert text(done).endswith("Done.")
    assert "nobody could be asked" in json.dumps(agent.dify.model_requests[1]["prompt_messages"])
    assert storage.values == {}
    assert agent.dify.tool_requests == []


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"approval_rules": "{"}, "approval_rules must be JSON"),
        ({"approval_rules": '{"apy": "always"}'}, 'approval_rules["apy"].tool must be the name of'),
        (
            {
                "approval_rules": '[{"tool": "pay", "when": {"to": {"matches": "("}}, "ask": "once"}]'
            },
            'approval_rules[0].when["to"].matches must be a regular expression',
        ),
        (
            {"approval_rules": '[{"tool": "pay", "when": {"too": {"equals": 1}}, "ask": "once"}]'},
            'approval_rules[0].when["too"] must be a path into the arguments of pay (to)',
        ),
        ({"conversation": None}, "this run belongs to no conversation"),
        ({"user": ""}, "this run belongs to no user"),
        ({"problem": "permission denied"}, "the plugin's permission `storage`"),
    ],
    ids=range(7),
)
def test_rules_that_cannot_be_kept_are_refused_before_any_model_call(
    agent, storage, given, sentence
):
    given = dict(given)
    storage.problem = given.pop("problem", None)
    with pytest.raises(Exception, match="approval_rules") as caught:
        turn(agent, "Pay Ann.", **given)
    assert sentence in str(caught.value)
    assert agent.dify.model_requests == []


def read_example_of_docs():
    text = (Path(__file__).parents[3] / "docs/plugins/gpt5-agent-strategies.md").read_text()
    [_, section] = text.split("\n## Approval\n")
    return section.split("```text\n")[1].split("\n```")[0]


@pytest.mark.parametrize(
    ("order", "asks"),
    [
        ({"to": "x@example.com", "amount": 5}, False),
        ({"to": "mallory@evil.example, x@example.com", "amount": 5}, True),
        ({"to": "x@example.com", "amount": 500}, True),
        ({"to": "x@example.com"}, True),
    ],
)
@pytest.mark.usefixtures("storage")
def test_the_rules_of_the_documentation_let_nobody_pass_who_is_hidden_before_a_known_address(
    agent, order, asks
):
    pay = tool("pay", parameter("to"), parameter("order", "object"))
    arguments = json.dumps({"to": order.pop("to"), "order": order})
    agent.dify.model[0] = [chunk(calls=[call("pay", arguments)])]

    done = turn(agent, "Pay.", tools=[pay], approval_rules=read_example_of_docs())

    assert ("Approval needed" in text(done)) == asks


def test_without_rules_the_storage_is_not_touched(agent, storage):
    turn(agent, "Pay Ann.", approval_rules=" ", conversation=None, user="")
    assert storage.done == ["called pay"]

"""Many tools at the price of few."""

import json
import sqlite3
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Script, ask, use

from agent_driver import ToolSearch, adrive, drive
from agent_loop import (
    AgentRun,
    Budgets,
    CallModel,
    Finished,
    ModelFailure,
    RunTools,
    ShowText,
    ToolCallEnded,
    ToolCallStarted,
)
from agent_tooling import REPEATED_FAILURE, ApprovalRules, Tool
from run_log import RunFile, RunLog, list_runs


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name, description="", parameters=None, function=None):
    return Tool.from_schema(
        name,
        description,
        parameters or {"type": "object"},
        function or (lambda **given: f"{name} {given}"),
    )


WEATHER = tool("getCityWeather", "Tells the weather.", CITY)
PLAIN = [tool(f"tool_{number}", f"Does thing {number}.") for number in range(40)]
MANY = [*PLAIN, WEATHER]


def search(query, call_id="c1"):
    return ask(use("search_tools", json.dumps({"query": query}), call_id))


def made_of(name, arguments, call_id="c1"):
    return use("call_tool", json.dumps({"name": name, "arguments": arguments}), call_id)


def contents(events):
    return [event.result.content for event in events if isinstance(event, ToolCallEnded)]


def requests(events):
    return [event for event in events if isinstance(event, CallModel)]


def names(request):
    return [tool.name for tool in request.tools]


def found(tools, query, **settings):
    return [found.name for found in ToolSearch(tools, **settings).find(query)]


def lines(text):
    return [json.loads(line) for line in text.splitlines()[1:]]


def test_the_model_finds_a_tool_and_calls_it(play, run):
    model = Script(
        search("weather of a city"), ask(made_of("getCityWeather", {"city": "Köln"}, "c2")), "Sun."
    )
    events = play(run, model, MANY, tool_search=30)
    told, result = contents(events)
    assert lines(told)[0] == {
        "name": "getCityWeather",
        "description": "Tells the weather.",
        "parameters": WEATHER.parameters,
    }
    assert result == "getCityWeather {'city': 'Köln'}"
    [asked] = [event for event in events if isinstance(event, RunTools)]
    assert [call.name for call in asked.calls] == ["getCityWeather"]
    started = [event for event in events if isinstance(event, ToolCallStarted)]
    assert [event.made and event.made.name for event in started] == [None, "getCityWeather"]
    offered = ["search_tools", "call_tool", "read_result"]
    assert [names(request) for request in requests(events)] == [offered] * 3


def test_few_tools_are_offered_as_they_are(play):
    for setting in (None, 42):
        run = AgentRun([], maximum_iterations=3)
        [request] = requests(play(run, Script("ok"), MANY, tool_search=setting))
        assert names(request) == [*(tool.name for tool in MANY), "read_result"]


def test_all_guards_of_a_direct_call_hold(play):
    def fail(**_given):
        raise ValueError("no")

    hidden = Tool.from_schema(
        "mail", "Sends.", CITY, lambda **given: str(given), hidden={"key": "k3y"}
    )
    tools = [*MANY, tool("broken", "Fails.", None, fail), hidden]
    calls = [
        made_of("getCityWeather", {}, "c1"),
        made_of("getCityWeather", {"city": 3}, "c2"),
        made_of("mail", {"city": "Bonn", "key": "mine"}, "c3"),
        made_of("broken", {}, "c4"),
        use("call_tool", '{"name": "mail", "arguments": ', "c5"),
        use("call_tool", '{"name": "mail"}', "c6"),
    ]
    direct = [
        use("getCityWeather", "{}", "c1"),
        use("getCityWeather", '{"city": 3}', "c2"),
        use("mail", '{"city": "Bonn", "key": "mine"}', "c3"),
        use("broken", "{}", "c4"),
    ]
    again = ask(made_of("broken", {}, "d4"))

    def results(calls, again, **settings):
        run = AgentRun([], maximum_iterations=4)
        events = play(run, Script(ask(*calls), again, "ok"), tools, **settings)
        ended = [event for event in events if isinstance(event, ToolCallEnded)]
        return {event.call.call_id: event.result.content for event in ended}

    told = results(calls, again, tool_search=30)
    assert told.pop("c5").startswith("tool arguments parse error: ")
    assert "missing required parameter 'arguments'" in told.pop("c6")
    assert told["d4"] == REPEATED_FAILURE
    assert "unknown parameters ['key']" in told["c3"]
    assert told == results(direct, ask(use("broken", "{}", "d4")))


def test_calls_of_a_round_run_at_once_and_a_budget_counts_them(play):
    run = AgentRun([], maximum_iterations=3, budgets=Budgets(max_tool_calls=3))
    calls = [
        made_of("slow", {}, "c1"),
        made_of("slow", {"n": 2}, "c2"),
        made_of("slow", {"n": 3}, "c3"),
    ]

    together = threading.Barrier(3)

    def meet(**_given):
        together.wait(60)
        return True

    tools = [*MANY, tool("slow", "", {"type": "object", "additionalProperties": True}, meet)]
    events = play(run, Script(ask(*calls, made_of("tool_1", {}, "c4")), "ok"), tools, tool_search=1)
    assert contents(events)[-3:] == ["true"] * 3
    assert "budget of the run is used up" in contents(events)[0]


def test_only_allowed_tools_are_found_and_called(play):
    run = AgentRun([], maximum_iterations=4, allowed_tools=["tool_1", "tool_7"])
    calls = [made_of("tool_2", {}, "c2"), made_of("tool_7", {}, "c3"), use("tool_3", "{}", "c4")]
    events = play(run, Script(search("thing"), ask(*calls), "ok"), MANY, tool_search=30)
    ended = {e.call.call_id: e.result.content for e in events if isinstance(e, ToolCallEnded)}
    assert [line["name"] for line in lines(ended["c1"])] == ["tool_1", "tool_7"]
    refused = "tool invoke error: {} may not be called in this run; allowed are: tool_1, tool_7"
    assert ended["c2"] == refused.format("tool_2")
    assert ended["c3"] == "tool_7 {}"
    assert ended["c4"] == refused.format("tool_3")
    assert requests(events)[0].allowed_tools == (
        *("tool_1", "tool_7"),
        *("search_tools", "call_tool", "read_result"),
    )


def test_a_tool_that_was_not_searched_may_be_called_by_its_own_name(play, run):
    events = play(run, Script(ask(use("tool_5")), "ok"), MANY, tool_search=30)
    assert contents(events) == ["tool_5 {}"]


def test_the_tool_that_the_choice_names_is_offered_beside(play):
    run = AgentRun([], maximum_iterations=3, tool_choice="tool_5")
    events = play(run, Script(ask(use("tool_5")), "ok"), MANY, tool_search=30)
    offered = ["tool_5", "search_tools", "call_tool", "read_result"]
    assert [names(request) for request in requests(events)] == [offered] * 2
    assert [request.tool_choice for request in requests(events)] == ["tool_5", "auto"]


def test_a_person_approves_the_tool_that_is_called(play):
    def build():
        rules = ApprovalRules.parse({"getCityWeather": "always"})
        return AgentRun([], maximum_iterations=4, approval_rules=rules)

    settings = {"tool_search": 30, "snapshot_key": b"k" * 32}
    asking = ask(made_of("getCityWeather", {"city": "Bonn"}), made_of("tool_1", {}, "c2"))
    asked = play(build(), Script(asking), MANY, **settings)[-1]
    assert [(call.name, call.arguments) for call in asked.calls] == [
        ("getCityWeather", '{"city": "Bonn"}')
    ]
    model = Script(None, "ok")
    events = play(build(), model, MANY, resume=asked.snapshot, decisions=True, **settings)
    assert contents(events) == ["getCityWeather {'city': 'Bonn'}"]
    assert names(model.requests[0]) == ["search_tools", "call_tool", "read_result"]


def test_a_person_reads_the_names_of_the_tools_that_are_called(play, run):
    gone = [ModelFailure(message="gone", is_transient=True)]
    model = Script(ask(made_of("tool_5", {})), gone, gone)
    events = play(run, model, MANY, tool_search=30)
    shown = "".join(event.text for event in events if isinstance(event, ShowText))
    assert "Calling tool_5" in shown
    assert "- tool_5: tool_5 {}" in shown
    assert "call_tool" not in shown


def test_what_a_run_offers_by_itself_stays_beside(play):
    run = AgentRun([], maximum_iterations=3, tools=[PLAIN[0]])
    events = play(run, Script("ok"), MANY, tool_search=30)
    offered = ["tool_0", "search_tools", "call_tool", "read_result"]
    assert [names(request) for request in requests(events)] == [offered]


def test_an_unknown_name_is_answered_with_the_nearest(play, run):
    model = Script(ask(made_of("get_city_wether", {}), made_of("zzz", {}, "c2")), "ok")
    near, far = contents(play(run, model, MANY, tool_search=30))
    assert near == "there is not a tool named get_city_wether; the nearest: getCityWeather"
    assert far == "there is not a tool named zzz; the nearest: none"


def test_tools_that_have_the_functions_names_keep_them(play, run):
    own = [tool("search_tools", "Searches tool shops."), tool("call_tool", "Calls a tool shop.")]
    model = Script(
        ask(use("search_tools_2", '{"query": "shop"}')),
        ask(
            use("call_tool_2", '{"name": "search_tools", "arguments": {}}', "c2"),
            use("call_tool", "{}", "c3"),
        ),
        "ok",
    )
    events = play(run, model, [*MANY, *own], tool_search=30)
    told, *rest = contents(events)
    assert {line["name"] for line in lines(told)} == {"search_tools", "call_tool"}
    assert sorted(rest) == ["call_tool {}", "search_tools {}"]


def test_the_log_of_the_run_has_the_arguments_of_the_tool_and_not_what_is_hidden(
    play, run, tmp_path
):
    mail = Tool.from_schema("mail", "", CITY, lambda **_given: "ok", hidden={"key": "s3cr3t-value"})
    model = Script(search("mail"), ask(made_of("mail", {"city": "Bonn"}, "c2")), "ok")
    play(run, model, [*MANY, mail], tool_search=30, log=RunLog(tmp_path))
    [summary] = list_runs(tmp_path)
    records = list(RunFile(summary.path).iter_records())
    [bound] = [record for record in records if record["type"] == "bound"]
    assert (bound["call_id"], bound["tool"], bound["arguments"]["city"]) == ("c2", "mail", "Bonn")
    assert "s3cr3t-value" not in summary.path.read_text()


def test_words_are_found_in_names_descriptions_and_parameters():
    schema = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["kelvin", "celsius"], "description": "A scale."},
            "places": {"type": "array", "items": {"properties": {"zipCode": {"type": "string"}}}},
            "when": {"anyOf": [{"description": "A moment."}, True]},
        },
    }
    tools = [
        tool("getHTTPHeaders2", "Reads pages."),
        tool("thermo.meter".replace(".", "_"), "Measures.", schema),
        tool("buy-bike", "Purchasing of bicycles."),
    ]
    for query, name in [
        ("http header", "getHTTPHeaders2"),
        ("Reading a PAGE", "getHTTPHeaders2"),
        ("kelvin", "thermo_meter"),
        ("zip", "thermo_meter"),
        ("scales", "thermo_meter"),
        ("moment", "thermo_meter"),
        ("purchase bicycle", "buy-bike"),
        ("motorbikes", "buy-bike"),
    ]:
        assert found(tools, query)[0] == name, query


def test_languages_without_spaces_are_found_by_pairs_of_characters():
    tools = [
        tool("t1", "获取指定城市的天气预报"),
        tool("t2", "发送电子邮件给联系人"),
        tool("t3", "指定した都市の天気を調べる"),
        tool("t4", "メールを送信する"),
        tool("t5", "도시의 날씨를 알려줍니다"),
        tool("t6", "雨"),
    ]
    for query, name in [
        ("北京天气怎么样?", "t1"),
        ("给小王发邮件", "t2"),
        ("東京の天気は?", "t3"),
        ("ﾒｰﾙを送信して", "t4"),
        ("서울 날씨 알려줘", "t5"),
        ("雨", "t6"),
    ]:
        assert found(tools, query)[0] == name, query


def test_equal_tools_are_ranked_in_their_order_and_at_most_ten_are_found():
    assert found([tool(f"t{n}", "Same words.") for n in range(30)], "same words") == [
        f"t{n}" for n in range(10)
    ]
    assert len(ToolSearch(PLAIN).find("thing", limit=3)) == 3


@pytest.mark.parametrize("query", ["", " \n", "the of a", "?!", '"', "zzzz", "\ud800", "\0"])
def test_a_query_that_says_nothing_finds_nothing(query):
    assert found(MANY, query) == []


def test_the_model_is_told_what_to_do_where_nothing_is_found(play, run):
    told, refused = contents(
        play(run, Script(search("zzzz"), search(" \n", "c2"), "ok"), MANY, tool_search=30)
    )
    assert told.startswith("No tool has any of these words.")
    assert "tool_0, tool_1" in told
    assert refused == "tool arguments validation error: parameter 'query' must say what to find"


@pytest.mark.parametrize(
    "query",
    [
        'weather" OR name:x* NEAR(',
        "weather' ; DROP TABLE words; --",
        "weather " * 200_000,
        "AND OR NOT weather",
    ],
)
def test_a_hostile_query_is_words_like_any_other(query):
    assert found(MANY, query)[0] == "getCityWeather"


@given(st.text(max_size=300), st.lists(st.text(max_size=30), max_size=5))
def test_no_query_and_no_description_breaks_a_search(query, descriptions):
    tools = [tool(f"t{index}", text) for index, text in enumerate(descriptions)]
    assert set(found(tools, query)) <= {tool.name for tool in tools}


def test_without_a_sqlite_that_can_search_the_model_is_told(play, run, monkeypatch):
    def connect(*_args, **_settings):
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(sqlite3, "connect", connect)
    events = play(run, Script(search("weather"), "ok"), MANY, tool_search=30)
    assert contents(events) == ["tools cannot be searched here: SQLite lacks FTS5 with trigrams"]


def test_what_a_search_tells_is_bounded(play, run):
    long = {"type": "object", "properties": {"x": {"description": "y" * 5_000}}}
    deep = {"type": "object"}
    for _ in range(60):
        deep = {"type": "object", "properties": {"deep": deep}}
    tools = [tool(f"long_{n}", "Same. " * 500, long) for n in range(12)]
    tools += [tool(f"small_{n}", "Same.", deep) for n in range(12)]
    [told] = contents(play(run, Script(search("long small"), "ok"), tools, tool_search=1))
    assert len(told) <= 5_500
    assert any("parameters" in line for line in lines(told))
    found = lines(ToolSearch(tools[:12]).functions[0].answer({"query": "long"}))
    assert [line["description"][-6:] for line in found] == [" [...]"] * 10
    with pytest.raises(ValueError, match="max_characters must be at least 1,000, not 999"):
        ToolSearch(tools, max_characters=999)


def test_a_search_may_be_asked_from_several_threads(play):
    search = ToolSearch(MANY)
    assert search.find("weather") == [WEATHER]

    def ask_it(**_given):
        return search.find("weather")[0].name

    calls = [use("ask", json.dumps({"n": n}), f"c{n}") for n in range(8)]
    asking = tool("ask", "", {"type": "object", "additionalProperties": True}, ask_it)
    events = play(AgentRun([], maximum_iterations=2), Script(ask(*calls), "ok"), [asking])
    assert contents(events) == ["getCityWeather"] * 8
    assert sqlite3.threadsafety >= 1


@pytest.mark.parametrize(
    ("value", "error", "sentence"),
    [
        (0, ValueError, "tool_search must be at least 1, not 0"),
        ("30", TypeError, "tool_search: expected a whole number or None, got str"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(value, error, sentence):
    for start in (drive, adrive):
        with pytest.raises(error, match=sentence):
            start(AgentRun([], maximum_iterations=2), Script("ok"), MANY, tool_search=value)


def test_the_rest_of_a_run_is_as_without_a_search(play):
    def end(**settings):
        run = AgentRun([], maximum_iterations=3)
        [finished] = [
            e for e in play(run, Script("ok"), MANY, **settings) if isinstance(e, Finished)
        ]
        return finished

    assert end(tool_search=30) == end()

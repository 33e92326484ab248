"""Many tools, of which the model is told when it searches them."""

import json

import pytest

from scripted_dify import call, chunk, parameter, text_message, tool


CITY = [parameter("city", required=True), parameter("key", form="form", default="k3y")]
PLAIN = [tool(f"tool_{number}", parameter("text")) for number in range(997, -1, -1)]
WEATHER = tool("getCityWeather", *CITY, description={"human": {}, "llm": "Tells the weather."})
MAIL = tool(
    "send_mail", parameter("text"), description={"human": {}, "llm": "给联系人发送电子邮件"}
)
MANY = [*PLAIN, WEATHER, MAIL]
SOME = MANY[-40:]
TAKES_NAMES = {"parameter_rules": [{"name": "allowed_tools"}, {"name": "tool_choice"}]}
OFFERED = ["search_tools", "call_tool", "read_result"]


def search(query, id_="c1"):
    return call("search_tools", json.dumps({"query": query}), id_=id_)


def made_of(name, arguments, id_="c2"):
    return call("call_tool", json.dumps({"name": name, "arguments": arguments}), id_=id_)


def ask(agent, *rounds, tools=SOME, tool_search=True, **parameters):
    agent.dify.model = [*([chunk(calls=calls)] for calls in rounds), [chunk("Done.")]]
    agent.dify.tools |= {"getCityWeather": [text_message("sun")], "tool_7": [text_message("7")]}
    transcript = agent.run(tools=tools, tool_search=tool_search, **parameters)
    assert transcript.error is None
    assert transcript.text.endswith("Done.")
    return transcript


def results(agent):
    prompts = agent.dify.model_requests[-1]["prompt_messages"]
    return [message["content"] for message in prompts if message["role"] == "tool"]


def offered(agent):
    return [[tool["name"] for tool in request["tools"]] for request in agent.dify.model_requests]


def test_a_thousand_tools_cost_less_than_ten(agent):
    rounds = [[search("weather")], [made_of("getCityWeather", {"city": "Bonn"})]]
    transcript = ask(agent, *rounds, tools=MANY)
    requests = agent.dify.model_requests
    assert offered(agent) == [OFFERED] * 3
    assert requests[0]["tools"] == requests[1]["tools"] == requests[2]["tools"]
    found, answer = results(agent)
    first = json.loads(found.splitlines()[1])
    assert (first["name"], list(first["parameters"]["properties"])) == ("getCityWeather", ["city"])
    assert "k3y" not in found
    assert answer == "sun"
    [made] = agent.dify.tool_requests
    assert (made["tool"], made["tool_parameters"]) == (
        "getCityWeather",
        {"city": "Bonn", "key": "k3y"},
    )
    assert "CALL getCityWeather" in transcript.logs
    assert "CALL call_tool" not in transcript.logs
    largest = max(len(json.dumps(request)) for request in requests)
    agent.reset()
    ask(agent, tools=MANY, tool_search=False)
    [all_in] = agent.dify.model_requests
    assert largest <= 0.05 * len(json.dumps(all_in))


@pytest.mark.parametrize("choice", [True, False, 1, "true", "", None], ids=repr)
def test_ten_tools_are_offered_as_ever(agent, choice):
    ask(agent, tools=MANY[:10], tool_search=choice)
    [searched] = agent.dify.model_requests
    agent.reset()
    agent.dify.model = [[chunk("Done.")]]
    agent.run(tools=MANY[:10])
    assert agent.dify.model_requests == [searched]


@pytest.mark.parametrize("choice", [False, 0, "", None, " FALSE "], ids=repr)
def test_it_is_off_where_nothing_is_said(agent, choice):
    ask(agent, raw={"tool_search": choice})
    assert len(offered(agent)[0]) == 41


def test_what_is_wrong_is_refused_with_the_sentences_of_a_direct_call(agent):
    wrong = [
        made_of("getCityWeather", {}, "c1"),
        made_of("getCityWeather", {"city": "Bonn", "key": "mine"}, "c2"),
        call("getCityWeather", "{}", id_="c3"),
        call("getCityWeather", '{"city": "Bonn", "key": "mine"}', id_="c4"),
    ]
    ask(agent, wrong)
    told = results(agent)
    assert told[:2] == told[2:]
    assert "city" in told[0]


def test_only_allowed_tools_are_found_and_called_and_the_model_is_told_what_it_is_offered(agent):
    calls = [search("text tool"), made_of("tool_7", {}), made_of("tool_8", {}, "c3")]
    ask(agent, calls, allowed_tools="tool_7", model={"entity": TAKES_NAMES})
    found, called, refused = results(agent)
    assert [json.loads(line)["name"] for line in found.splitlines()[1:]] == ["tool_7"]
    assert called == "7"
    assert refused == "tool invoke error: tool_8 may not be called in this run; allowed are: tool_7"
    sent = [r["completion_params"]["allowed_tools"] for r in agent.dify.model_requests]
    assert sent == ["\n".join(OFFERED)] * 2


def test_tools_with_one_name_of_several_providers_are_found_apart(agent):
    twins = [tool("clock"), tool("clock", provider="other/b/b")]
    ask(agent, [search("clock")], tools=[*PLAIN[:30], *twins])
    names = [json.loads(line)["name"] for line in results(agent)[0].splitlines()[1:]]
    assert sorted(names) == ["b_clock", "tools_clock"]


def test_descriptions_in_chinese_are_found(agent):
    ask(agent, [search("发邮件给小王")])
    assert json.loads(results(agent)[0].splitlines()[1])["name"] == "send_mail"


def test_the_number_of_tools_is_a_setting_of_the_administrator(configured_agent):
    ask(configured_agent, tools=MANY[:2])
    ask(configured_agent, tools=MANY[:3])
    assert [len(names) for names in offered(configured_agent)] == [3, 3]
    assert offered(configured_agent)[1] == OFFERED

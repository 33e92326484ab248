"""Dify's web page with both plugins in each of its languages that they speak: nothing crashes, and nothing that matters is cut."""

import pytest
import yaml
from playwright.sync_api import expect, sync_playwright

from apps import MODELS, STRATEGIES, agent_node, llm_node, tool, weekday
from conftest import ROOT
from dify import wait_until
from pages import LANGUAGES, has_cut_placeholder, open_web
from upstream import call, items, said, thought


AGENTS, PROVIDER = ROOT / "plugins/gpt5_agent_strategies", ROOT / "plugins/openai_gpt5_responses"
PICTURE = ROOT / "docs/pictures/dify-agent-run.png"
BUDGETS = ("max_total_tokens", "max_cost", "max_seconds", "max_tool_calls")


@pytest.fixture(scope="session")
def chromium(address, pytestconfig):  # noqa: ARG001 - without an address there is nothing to open
    with sync_playwright() as playwright:
        options = {
            "executable_path": pytestconfig.getoption("--chromium"),
            "args": ["--no-sandbox"],
        }
        browser = playwright.chromium.launch(**options)
        yield browser
        browser.close()


@pytest.fixture(params=LANGUAGES)
def language(request):
    return request.param


@pytest.fixture(scope="session")
def address(pytestconfig):
    address = pytestconfig.getoption("--web")
    if address is None:
        pytest.skip("--web URL says where the pages of this Dify are")
    return address.rstrip("/")


@pytest.fixture
def web(chromium, address, console, language):
    """A tab of Dify's page in one of its languages; an error of the page fails the test."""
    with open_web(chromium, address, console, language) as web:
        yield web


@pytest.fixture
def says(language):
    """What a plugin's file says in the language; Dify keeps no Japanese of models and their providers."""

    def says(texts, *, is_models=False):
        name = LANGUAGES[language]
        return texts["en_US"] if is_models and name == "ja_JP" else texts.get(name, texts["en_US"])

    return says


@pytest.fixture
def saved(console):
    """Wait until the editor has saved what is looked for in the node's data, and return the data."""

    def saved(app, is_there):
        def look():
            nodes = console.get(f"/apps/{app}/workflows/draft")["graph"]["nodes"]
            [data] = [node["data"] for node in nodes if node["id"] == "node"]
            return data if is_there(data) else None

        return wait_until(look, "the editor's saving", seconds=60)

    return saved


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def parameters(strategy="gpt5_function_calling"):
    return read(AGENTS / f"strategies/{strategy}.yaml")["parameters"]


def labels(says):
    """What the fields of a strategy are called, by their names."""
    return {one["name"]: says(one["label"]) for one in parameters()}


@pytest.mark.parametrize("folder", [PROVIDER, AGENTS])
def test_the_page_of_plugins_shows_each_with_its_icon_and_its_whole_description(web, says, folder):
    manifest = read(folder / "manifest.yaml")
    if web.has_integrations and folder == PROVIDER:
        pytest.skip("this Dify lists providers of models, not their plugins")
    web.open("/integrations/agent-strategy" if web.has_integrations else "/plugins")
    web.shows(says(manifest["label"]))
    web.shows(says(manifest["description"]))
    icon = web.page.locator(f"img[alt*='/{manifest['name']}:']").first
    wait_until(lambda: icon.evaluate("image => image.naturalWidth"), "the icon")


def test_the_form_of_credentials_says_what_each_field_takes(web, says):
    provider = read(PROVIDER / "provider/openai_gpt5.yaml")
    web.open_provider(says(provider["label"], is_models=True)).locator(
        "button[aria-haspopup=dialog]"
    ).last.click()
    web.page.get_by_role("dialog").locator("button").last.click()
    assert_form_of_credentials(web, says, provider, "provider_credential_schema")


def test_the_form_of_an_added_model_says_what_each_field_takes(web, says):
    provider = read(PROVIDER / "provider/openai_gpt5.yaml")
    web.open_provider(says(provider["label"], is_models=True)).locator("button").last.click()
    form = assert_form_of_credentials(web, says, provider, "model_credential_schema")
    web.shows(
        says(provider["model_credential_schema"]["model"]["label"], is_models=True), within=form
    )


def assert_form_of_credentials(web, says, provider, schema):
    form = web.page.get_by_role("dialog").filter(has=web.page.locator("input[name=openai_api_key]"))
    web.shows(says(provider["help"]["title"], is_models=True), within=form)
    for field in provider[schema]["credential_form_schemas"]:
        web.shows(says(field["label"], is_models=True), within=form)
        if field["type"] != "select":
            drawn = form.locator(f"input[name={field['variable']}]")
            told = says(field["placeholder"], is_models=True)
            assert drawn.get_attribute("placeholder") == told
            assert not has_cut_placeholder(drawn), told
    return form


def test_every_parameter_of_a_model_can_be_set_in_its_panel(web, apps, says, saved):
    app = apps.chatflow("llm", llm_node()).app
    model = read(PROVIDER / "models/llm/gpt-5.2.yaml")
    web.open_node(app)
    panel = web.open_model("GPT-5.2")
    for rule in model["parameter_rules"]:
        label = web.shows(says(rule["label"], is_models=True), within=panel)
        set_parameter(web, label, rule)
    names = {rule["name"] for rule in model["parameter_rules"]}
    saved(app, lambda data: set(data["model"]["completion_params"]) == names)
    assert web.is_editor_there()


def set_parameter(web, label, rule):
    """Switch a parameter of a model on, and choose something."""
    row = label.locator("xpath=ancestor::*[.//*[@role='switch']][1]/../..")
    row.get_by_role("switch").click()
    if "options" in rule:
        row.get_by_role("combobox").click()
        web.page.get_by_role("option", name=str(rule["options"][-1]), exact=True).click()
    elif rule["type"] == "int":
        row.locator("input[type=number]").fill(str(rule["max"]))
        for slider in row.locator("input[type=range]").all():
            slider.press("ArrowLeft")
    elif rule["type"] == "boolean":
        row.get_by_text("True", exact=True).click()


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
def test_the_form_of_a_saved_node_has_each_field_of_its_strategy(web, apps, says, strategy):
    web.open_node(
        apps.chatflow("agent", agent_node([weekday()], strategy=(STRATEGIES, strategy))).app
    )
    declared = parameters(strategy)
    assert len(declared) == 20
    for parameter in declared:
        web.shows(says(parameter["label"]))
    assert web.is_editor_there()


def test_the_help_of_each_field_is_whole_behind_its_question_mark(web, apps, says):
    web.open_node(apps.chatflow("agent", agent_node([weekday()])).app)
    for parameter in parameters():
        web.read_help(says(parameter["help"]))


@pytest.mark.parametrize("strategy", ["gpt5_function_calling", "gpt5_react"])
def test_a_strategy_can_be_chosen_in_an_empty_node_and_filled_in(web, apps, says, saved, strategy):
    app = apps.chatflow("agent", {}).app
    provider = read(AGENTS / "provider/gpt5_agent_strategies.yaml")["identity"]
    identity = read(AGENTS / f"strategies/{strategy}.yaml")["identity"]
    web.open_node(app)
    web.choose_strategy(says(provider["label"]), says(identity["label"]))
    for parameter in parameters(strategy):
        web.shows(says(parameter["label"]))
    web.type(labels(says)["instruction"], "Be brief.")
    data = saved(app, lambda data: "instruction" in (data.get("agent_parameters") or {}))
    assert data["agent_strategy_name"] == strategy
    assert data["agent_strategy_provider_name"] == STRATEGIES


def test_budgets_are_empty_fields_and_what_is_typed_is_saved(web, apps, says, saved):
    app = apps.chatflow("agent", agent_node([weekday()])).app
    named = labels(says)
    web.open_node(app)
    for name in BUDGETS:
        field = web.field(named[name])
        expect(field.locator("input")).to_have_count(1)  # a slider would be another
        assert field.locator("input").input_value() == ""
    web.field(named["max_cost"]).locator("input").fill("0.5")
    for name in ("tool_search", "remember_turns"):
        web.field(named[name], "*[text()='True']").get_by_text("True", exact=True).click()
    # Dify's editor offers variables at each / and {.
    web.type(named["fallback_model"], f"{MODELS}/gpt-5.4")
    web.type(named["answer_schema"], '{"type": "object"}')

    wanted = {
        "max_cost": "0.5",
        "tool_search": "True",
        "remember_turns": "True",
        "fallback_model": f"{MODELS}/gpt-5.4",
        "answer_schema": '{"type": "object"}',
    }
    data = saved(app, lambda data: set(wanted) <= set(data["agent_parameters"]))
    data = saved(app, lambda data: "}" in data["agent_parameters"]["answer_schema"]["value"])
    assert {name: str(data["agent_parameters"][name]["value"]) for name in wanted} == wanted


def test_a_run_of_the_pages_own_chat_shows_thoughts_answer_and_log(web, apps, upstream):
    upstream.plays(
        [thought("A calendar knows."), call("weekday", year=2026, month=11, day=23)],
        [said("Monday.")],
    )
    web.open_editor(apps.chatflow("agent", agent_node([weekday()])).app)
    answer = web.ask("What weekday is it?")
    web.shows("Monday.", within=answer)
    answer.locator("summary").click()
    web.shows("A calendar knows.", within=answer)

    web.open_log(answer)
    web.open_round()
    web.shows("gpt-5.2 Thought")
    web.shows("CALL weekday").click()
    wait_until(lambda: "November 23" in web.code(), "the tool's result")
    assert web.is_editor_there()


@pytest.mark.parametrize("rounds", [1, 2], ids=["this round", "an earlier round"])
@pytest.mark.parametrize(
    "opener",
    [
        "<!-- ",
        "<div hidden>\n",
        "```\ncode\n",
        "- a\n  ~~~\n",
        "$$\nx",
        "![x](",
        "[x]: \n```",
        "CODE_BLOCK_PLACEHOLDER",
    ],
)
@pytest.mark.parametrize("language", ["en-US"], indirect=True)
def test_nothing_that_the_model_has_said_hides_a_question(web, apps, upstream, opener, rounds):
    ask = call("current_time")
    answers = [[said(opener), call("weekday", year=2026, month=11, day=23)], [ask]]
    upstream.plays(*(answers if rounds == 2 else [[said(opener), ask]]))
    tools = [tool("builtin", "time", "current_time", format="%H:%M", timezone="UTC"), weekday()]
    node = agent_node(tools, approval_rules='{"current_time": "always"}')
    web.open_editor(apps.chatflow("agent", node).app)
    answer = web.ask("What time is it?")
    for part in (
        "Approval needed for these calls:",
        "- current_time: {}",
        "Any other answer denies",
    ):
        shown = answer.get_by_text(part)
        shown.last.wait_for()
        assert shown.last.evaluate("element => element.closest('details, table, .katex') === null")
    assert answer.locator("blockquote").last.inner_text().startswith("Code: ")


def test_a_run_that_fails_says_why_in_the_log(web, apps, upstream):
    upstream.refuses("Unsupported value: 'x'.", 400)
    web.open_editor(apps.chatflow("agent", agent_node([weekday()])).app)
    web.open_log(web.ask("What weekday is it?"))
    # The server's words are no part of it, for an app's public reads it too; they stand in the log of the round.
    error = web.page.get_by_text("The server refused the request (status 400)").last
    error.wait_for()
    assert "Traceback" not in error.inner_text()
    assert web.is_editor_there()


def test_the_picture_of_the_readme_is_of_this_page(
    chromium, address, console, apps, upstream, pytestconfig, tmp_path
):
    upstream.answers(play_clock_and_calendar)
    now = tool("builtin", "time", "current_time", format="%H:%M", timezone="Asia/Tokyo")
    node = agent_node([now, weekday()], memory=False)
    named = {"title": "Agent", "agent_strategy_label": "GPT-5 Function Calling"}
    app = apps.chatflow("agent", node | named).app
    with open_web(chromium, address, console) as web:
        web.open_editor(app)
        answer = web.ask("What time is it in Tokyo, and what weekday is New Year's Day 2027?")
        answer.locator("summary").click()
        web.open_log(answer)
        web.open_round("Agent")
        web.shows("CALL weekday").click()
        wait_until(lambda: "is Friday" in web.code(), "the tool's result")
        web.move_canvas(to=(318, 150))
        taken = web.take_picture(
            PICTURE if pytestconfig.getoption("--pictures") else tmp_path / "taken.png"
        )
    assert taken.stat().st_size < 200_000
    assert PICTURE.exists()


def play_clock_and_calendar(request):
    results = [item["output"] for item in items(request.body, "function_call_output")]
    if not results:
        both = thought("The clock and the calendar do not need each other, so I ask both at once.")
        first = said("I look at the clock in Tokyo and at the calendar.")
        return [both, first, call("current_time"), call("weekday", year=2027, month=1, day=1)]
    return [said(f"In Tokyo it is {results[0]}, and New Year's Day 2027 is a Friday.")]

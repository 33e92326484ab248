"""Ours beside the official pair in the same Dify, with the same server behind both: `--official FOLDER` has their packages."""

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from statistics import median

import pytest

from apps import MODEL, MODELS, STRATEGIES, agent_node, weekday
from upstream import KEY, call, items, said, thought


OFFICIAL = "langgenius/openai/openai"
PAIRS = {
    "ours": (MODELS, (STRATEGIES, "gpt5_function_calling")),
    "official": (OFFICIAL, ("langgenius/agent/agent", "function_calling")),
}
ROUNDS = 4
REPEATS = 3
SENTENCE = "This is one of the sentences of a long answer. "
ERRORS = {
    400: "Unsupported value: 'x'.",
    401: "Incorrect API key provided: sk-1234.",
    404: "The model 'gpt-5.2' does not exist.",
    429: "You exceeded your current quota.",
}


@pytest.fixture(scope="module", autouse=True)
def official(console, simulator, stage, pytestconfig):
    """The official pair, with credentials for the same server."""
    folder = pytestconfig.getoption("--official")
    if not folder:
        pytest.skip(
            "--official names a folder with the official packages openai-*.difypkg and cot_agent-*.difypkg"
        )
    for name in ("openai", "cot_agent"):
        console.install(next(folder.glob(f"{name}-*.difypkg")))
    stage.plays([said("pong")], repeat=True)
    base_url = simulator.base_url.removesuffix("/v1")
    values = {"openai_api_key": KEY, "openai_api_base": base_url, "validate_model": MODEL}
    console.save_credentials(OFFICIAL, values)


@pytest.fixture
def tell(capsys):
    """Print a row of the table that the session is run for."""

    def tell(what, **values):
        with capsys.disabled():
            print(f"\n{what}: " + ", ".join(f"{who} {value}" for who, value in values.items()))  # noqa: T201

    return tell


def answer_after_rounds(request):
    """Call three tools in each of the rounds, and then answer."""
    done = len(items(request.body, "function_call_output")) // 3
    if done == ROUNDS:
        return [said("Done.")]
    days = range(1 + 3 * done, 4 + 3 * done)
    return [
        thought(f"Round {done}."),
        *(call("weekday", year=2026, month=11, day=day) for day in days),
    ]


@pytest.fixture
def agents(apps, upstream):
    upstream.answers(answer_after_rounds)
    return {
        who: apps.chatflow("agent", agent_node([weekday()], provider=provider, strategy=strategy))
        for who, (provider, strategy) in PAIRS.items()
    }


def test_a_chat_of_a_long_answer(apps, upstream, tell):
    upstream.plays([thought(), said(SENTENCE * 200)], repeat=True)
    chats = {who: apps.chat(provider=provider) for who, (provider, _) in PAIRS.items()}
    runs = {who: [] for who in chats}
    for _ in range(REPEATS + 1):
        for who, chat in chats.items():
            runs[who].append(chat.chat("Tell me."))
    warm = {who: these[1:] for who, these in runs.items()}
    tell(
        "chat, first text in s",
        **{who: seconds(run.first_text_seconds for run in these) for who, these in warm.items()},
    )
    tell(
        "chat, whole time in s",
        **{who: seconds(run.seconds for run in these) for who, these in warm.items()},
    )
    tell("chat, cost stored", **{who: these[0].usage["total_price"] for who, these in warm.items()})
    assert all(run.answer == (SENTENCE * 200).strip() for these in warm.values() for run in these)


def test_an_agent_of_four_rounds_with_three_tools_each(agents, upstream, tell):
    runs = {who: [] for who in agents}
    kept = {}
    for _ in range(REPEATS + 1):
        for who, agent in agents.items():
            runs[who].append(agent.chat("Go."))
            kept[who] = len(items(upstream.requests[-1], "reasoning"))
    times = {who: seconds(run.seconds for run in these[1:]) for who, these in runs.items()}
    tell(
        "agent, first text in s",
        **{
            who: seconds(run.first_text_seconds for run in these[1:]) for who, these in runs.items()
        },
    )
    tell("agent, whole time in s", **times)
    tell("agent, reasoning items of 4 in the last request", **kept)
    told = {
        who: these[1].node("node")["outputs"]["usage"]["total_price"] for who, these in runs.items()
    }
    tell("agent, cost told by the node", **told)
    assert times["ours"] <= Decimal("0.6") * times["official"]
    assert kept["ours"] == ROUNDS


def test_five_such_runs_at_once(agents, tell):
    times = {who: [] for who in agents}
    for _ in range(2):  # a minute and more each, for the official pair
        for who, agent in agents.items():
            with ThreadPoolExecutor(5) as threads:
                runs = list(threads.map(agent.chat, ["Go."] * 5))
            assert all(run.answer == "Done." for run in runs)
            times[who].append(max(run.seconds for run in runs))
    medians = {who: seconds(these) for who, these in times.items()}
    tell("five agents at once, until the last is done, in s", **medians)
    assert medians["ours"] <= Decimal("0.6") * medians["official"]


def test_errors_as_they_are_shown(agents, apps, upstream, tell):
    for status, message in ERRORS.items():
        upstream.refuses(message, status)
        for who, (provider, _) in PAIRS.items():
            tell(f"{status} in a chat", **{who: apps.chat(provider=provider).chat("Hello?").error})
            error = agents[who].chat("Go.").error
            tell(f"{status} of an agent", **{who: f"{len(error)} characters: {error[:300]}"})


def seconds(times):
    return round(Decimal(median(times)), 2)

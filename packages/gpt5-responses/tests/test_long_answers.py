"""Long answers over connections that break: whole, once, billed once, whatever is cut."""

import random
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from cutting import Cut, CuttingProxy, random_cut
from following import ASKED, BOTH, follow, joined
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpt5_messages import BlockDelta, ResponseEnded, StreamEvent
from gpt5_responses import ModelConfig, ResponsesClient, Transport
from gpt5_simulator import FunctionCall, Reasoning, ResponsesSimulator, ScriptedModel, Text


TEXT = " ".join(f"word{number}" for number in range(1500))
TURN = [
    Reasoning(summary=("First think,", "then write.")),
    Text(text="I look it up.", phase="commentary"),
    Text(text=" ".join(f"{number}ä😀" for number in range(40))),
    FunctionCall(name="f", arguments={"city": "Oslo"}, call_id="call_1"),
]
TWO_HOURS = 7200.0

pytestmark = pytest.mark.untraced


class FastClock:
    """A clock that runs many times faster than time."""

    def __init__(self, times: float) -> None:
        self._begun = time.monotonic()
        self._times = times

    def __call__(self) -> float:
        return 1_000_000.0 + (time.monotonic() - self._begun) * self._times


@pytest.fixture(scope="module", autouse=True)
def short_pauses() -> Iterator[None]:
    """Ask again soon for what was cut: other tests are about the pauses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpt5_responses._http.error_answer._FIRST_PAUSE_SECONDS", 0.02)
        yield


@pytest.fixture(scope="module")
def server() -> Iterator[ResponsesSimulator]:
    with ResponsesSimulator(
        model=ScriptedModel([TURN], repeat=True), background_seconds=0.04
    ) as running:
        yield running


@pytest.fixture(scope="module")
def uncut(server: ResponsesSimulator) -> list[StreamEvent]:
    return follow(server.base_url, is_async=False).events


@BOTH
def test_two_hours_with_fifty_cuts_arrive_whole_once_and_billed_once(*, is_async: bool) -> None:
    choice = random.Random(7)
    plan = [Cut(status=status) for status in (500, 404)] + [random_cut(choice) for _ in range(90)]
    model = ScriptedModel([[Reasoning(summary=("Think.",)), Text(text=TEXT)]], repeat=True)
    with (
        ResponsesSimulator(
            model=model, background_seconds=TWO_HOURS, clock=FastClock(3600)
        ) as server,
        CuttingProxy(server.base_url, [Cut(after_bytes=0), *plan]) as proxy,
    ):
        followed = follow(proxy.base_url, is_async=is_async, poll_seconds=0.01)
        counts = server.background

    assert followed.error is None
    assert proxy.cut >= 50
    told = [event.text for event in followed.events if isinstance(event, BlockDelta)]
    assert "".join(told) == f"Think.{TEXT}"
    assert followed.stream.completion.text == TEXT
    assert [type(event) for event in followed.events].count(ResponseEnded) == 1
    assert (counts.begun, counts.done, counts.cancelled) == (1, 1, 0)


@settings(max_examples=6)
@example(cuts=[Cut(after_bytes=0)] * 4 + [Cut(status=400)], is_async=False)
@given(
    cuts=st.lists(
        st.builds(
            Cut,
            after_bytes=st.integers(0, 30_000),
            status=st.sampled_from((0, 0, 0, 0, 500, 404, 400, 200)),
        ),
        max_size=6,
    ),
    is_async=st.booleans(),
)
def test_events_are_the_same_whatever_is_cut(
    server: ResponsesSimulator, uncut: list[StreamEvent], cuts: list[Cut], *, is_async: bool
) -> None:
    with CuttingProxy(server.base_url, cuts) as proxy:
        followed = follow(proxy.base_url, is_async=is_async)

    assert followed.error is None
    assert without_ids(joined(followed.events)) == without_ids(joined(uncut))


@settings(max_examples=6)
@given(sizes=st.lists(st.integers(0, 30_000), max_size=2), is_async=st.booleans())
def test_what_is_resumed_has_every_piece_once_as_it_came(
    server: ResponsesSimulator, uncut: list[StreamEvent], sizes: list[int], *, is_async: bool
) -> None:
    with CuttingProxy(server.base_url, [Cut(after_bytes=size) for size in sizes]) as proxy:
        followed = follow(proxy.base_url, is_async=is_async)

    assert without_ids(followed.events) == without_ids(uncut)


def without_ids(events: list[StreamEvent]) -> list[str]:
    """Return events as text without what differs between two responses to the same request."""
    kept: list[str] = []
    for event in events:
        item = getattr(event, "item", None)
        if item is not None:
            kept.append(repr({key: value for key, value in item.items() if key != "id"}))
        else:
            kept.append("started" if hasattr(event, "response_id") else repr(event))
    return kept


@BOTH
def test_abandoned_runs_are_cancelled_also_where_all_is_cut(*, is_async: bool) -> None:
    model = ScriptedModel([TURN], repeat=True)
    with ResponsesSimulator(model=model, background_seconds=60) as server:
        for size in (0, 300):
            with CuttingProxy(server.base_url, [Cut(after_bytes=size)]) as proxy:
                follow(proxy.base_url, is_async=is_async, most=1)
        assert (server.background.begun, server.background.cancelled) == (2, 2)


COLLECT = """
import sys
from gpt5_responses import ModelConfig, ResponsesClient
url, job_id = sys.argv[1:]
job = ResponsesClient(ModelConfig(model_id="gpt-5.2", api_key="sk-very-secret", base_url=url)).collect(job_id)
print(job.is_done, job.completion_window, job.price_factor, job.completion.text)
"""


def test_a_fresh_process_collects_a_job_by_its_id() -> None:
    transport = Transport()
    with ResponsesSimulator(
        model=ScriptedModel([[Text(text="Done.")]]), background_seconds=0.2
    ) as server:
        config = ModelConfig(model_id="gpt-5.2", api_key="sk-very-secret", base_url=server.base_url)
        client = ResponsesClient(config, transport=transport)
        job = client.submit(ASKED, completion_window="8h")
        time.sleep(0.25)
        command = [sys.executable, "-c", COLLECT, server.base_url, job.response_id]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        transport.close()

    assert not job.is_done
    assert found.stdout == "True 8h 0.60 Done.\n"

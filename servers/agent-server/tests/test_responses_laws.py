from datetime import UTC, datetime

from agents import GivenSettings
from hypothesis import given
from hypothesis import strategies as st
from talking import Talker, events_of
from web import client_of

from agent_server.http import build_app
from agent_server.runs import Run, StoredEvent


_RUN = "6b3a7d1e-0000-4000-8000-000000000001"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SHOWN = {
    "background": False,
    "input": [],
    "instructions": None,
    "previous_response_id": None,
    "store": True,
    "text_format": None,
    "tools": [{"name": "mine", "description": None, "parameters": None}],
}
_USAGE = {"input_tokens": 1, "output_tokens": 1, "cached_tokens": None, "reasoning_tokens": 1}
_PATHS = st.sampled_from([[], [], ["call_9"]])
_CALLS = st.sampled_from(["call_1", "call_2", "call_3"])


def _of(type_, **members):
    members = {"path": _PATHS, **members}
    return st.tuples(st.just(type_), st.fixed_dictionaries(members))


_TOLD = st.one_of(
    _of("model_started", again=st.booleans()),
    _of("text", text=st.text(max_size=3)),
    _of("reasoning", text=st.text(max_size=3)),
    _of("file", media_type=st.sampled_from(["image/png", "text/csv"]), data=st.just("AA==")),
    _of("model_ended", usage=st.sampled_from([None, _USAGE])),
    _of(
        "tool_started",
        call_id=_CALLS,
        name=st.sampled_from(["look", "mine"]),
        arguments=st.just("{}"),
    ),
    _of("tool_ended", call_id=_CALLS, output=st.just("x"), error=st.sampled_from([None, "no"])),
    st.just(("run_started", {"attempt": 1})),
)
_CALL = st.builds(
    lambda call_id, server: {"call_id": call_id, "name": "n", "arguments": "{}", "server": server},
    _CALLS,
    st.sampled_from(["", "s"]),
)
_ASKED = st.fixed_dictionaries(
    {
        "approvals": st.lists(_CALL, max_size=2, unique_by=lambda one: one["call_id"]),
        "results": st.lists(_CALL, max_size=2, unique_by=lambda one: one["call_id"]),
        "question": st.sampled_from([None, {"text": "Who?", "schema": None}]),
    }
)


def _answer(asked):
    return {
        "approvals": {
            one["call_id"]: {"approved": True, "reason": None} for one in asked["approvals"]
        },
        "results": {one["call_id"]: "y" for one in asked["results"]},
        "answer": "me",
    }


_ENDS = st.sampled_from(
    [
        ("run_succeeded", {"output": "done"}),
        ("run_succeeded", {"output": None}),
        ("run_failed", {"error": None, "error_type": None}),
        ("run_cancelled", {"reason": None}),
    ]
)


@st.composite
def _runs(draw):
    """Return the events of a run with two parts that waits between them."""
    asked = draw(_ASKED)
    told = [
        *draw(st.lists(_TOLD, max_size=12)),
        ("run_waiting", asked),
        ("run_answered", _answer(asked)),
        *draw(st.lists(_TOLD, max_size=12)),
        draw(_ENDS),
    ]
    return [
        StoredEvent(number=n, type=type_, created_at=_NOW, data=data)
        for n, (type_, data) in enumerate(told, 1)
    ]


class _Recorded:
    """The service for one run, whose events are stored up to some place."""

    def __init__(self, events):
        self._events = events

    async def get(self, run_id, *, tenant):
        return Run(
            run_id=run_id,
            tenant=tenant,
            agent="greet",
            status="running",
            metadata={},
            attempt=1,
            created_at=_NOW,
            started_at=_NOW,
            finished_at=None,
            cancel_requested=False,
            cancel_reason=None,
            last_event=len(self._events),
            result=None,
            part=1,
        )

    async def read_shown(self, _run_id, *, tenant):  # noqa: ARG002 - as the real one
        return _SHOWN

    async def read_events(self, _run_id, *, tenant, after, limit):  # noqa: ARG002 - as the real one
        return self._events[after : after + min(limit, 5)]

    async def watch_events(self, _run_id, *, tenant, after=0):  # noqa: ARG002 - as the real one
        for first in range(after, len(self._events), 3):
            yield self._events[first : first + 3]


async def _read(events, part, after=-1):
    """Return the events of a response after one, and the response, as a server says that has these events of its run."""
    app = build_app(GivenSettings(), Talker(), _Recorded(events))
    place = f"/v1/responses/resp_{_RUN.replace('-', '')}_{part}"
    async with client_of(app) as client:
        told = await client.get(place, params={"stream": "true", "starting_after": str(after)})
        return events_of(told), (await client.get(place)).json()


@given(_runs(), st.integers(0, 1), st.integers(-1, 30))
async def test_every_read_has_the_same_numbers_without_gaps_and_ends_with_the_response(
    events, part, after
):
    told, response = await _read(events, part)

    assert [one["sequence_number"] for one in told] == list(range(len(told)))
    assert told[0]["type"] == "response.created"
    assert told[-1]["response"] == response
    assert (await _read(events, part, after))[0] == told[after + 1 :]


@given(_runs(), st.integers(0, 1), st.integers(0, 30))
async def test_what_was_told_stays_so_wherever_the_events_are_cut(events, part, cut):
    whole, response = await _read(events, part)
    begun, early = await _read(events[:cut], part)

    assert begun == whole[: len(begun)]
    # What is recorded stays as well.
    assert all(item in response["output"] for item in early["output"])


@given(_runs(), st.integers(0, 1))
async def test_items_begin_and_end_once_and_the_response_has_those_that_count(events, part):
    told, response = await _read(events, part)
    added = [one["output_index"] for one in told if one["type"] == "response.output_item.added"]
    done = {
        one["output_index"]: one["item"]
        for one in told
        if one["type"] == "response.output_item.done"
    }

    assert added == list(range(len(added)))
    assert sorted(done) == added
    assert len({item["id"] for item in done.values()}) == len(done)
    assert all(item in done.values() for item in response["output"])
    assert all(item.get("status") != "incomplete" for item in response["output"])

import asyncio
import json
import tracemalloc
from datetime import UTC, datetime

from httpx_sse import aconnect_sse
from starlette.responses import StreamingResponse
from starlette.routing import Route
from web import (
    asked,
    client_at,
    client_of,
    ended,
    executor,
    fields,
    listening,
    post,
    settings_of,
    until,
)

from agent_server.executor import RunResult
from agent_server.http import build_app, build_frame, stream_events
from agent_server.runs import DatabaseAwayError, Run, StoredEvent


_STREAM = {"Accept": "text/html, text/event-stream;q=0.9"}


async def odd(run):
    await run.tell("lines\u2028ends\n", {"text": "a\u2028b\u0085c \ud83d"})
    return RunResult(status="succeeded")


async def large(run):
    for _ in range(3):
        await run.tell("large", {"text": "x" * 3_000_000})
    return RunResult(status="succeeded")


async def followed(client, run_id, **headers):
    path = f"/v1/runs/{run_id}/events"
    async with aconnect_sse(client, "GET", path, headers=headers) as source:
        return [frame async for frame in source.aiter_sse()]


async def test_events_are_read_page_by_page_to_their_end(tmp_path):
    async with asked(tmp_path) as client:
        run_id = (await post(client, {"agent": "echo", "question": "why"})).json()["run_id"]
        await ended(client, run_id)
        path = f"/v1/runs/{run_id}/events"
        first = (await client.get(path, params={"limit": 3})).json()
        rest = (await client.get(path, params={"after": first["next_after"]})).json()
        behind = (await client.get(path, params={"after": 99})).json()
        refused = [
            await client.get(path, params={"after": "x"}),
            await client.get(path, params={"after": "1.0"}),
            await client.get(path, params={"limit": 1001}),
            await client.get(path, params={"before": 3}),
            await client.get(path, headers={"Last-Event-ID": "-1"}),
        ]

    assert [event["number"] for event in first["events"]] == [1, 2, 3]
    assert first["is_complete"] is False
    assert [event["type"] for event in rest["events"]] == ["run_succeeded"]
    assert (rest["next_after"], rest["is_complete"]) == (4, True)
    assert (behind["events"], behind["next_after"], behind["is_complete"]) == ([], 99, True)
    names = ["after", "after", "limit", "before", "Last-Event-ID"]
    assert [fields(one) for one in refused] == [[name] for name in names]


async def test_a_page_of_events_ends_where_it_is_full(tmp_path):
    async with asked(tmp_path, executor(large=large)) as client:
        run_id = (await post(client, {"agent": "large"})).json()["run_id"]
        await ended(client, run_id)
        page = (await client.get(f"/v1/runs/{run_id}/events")).json()

    assert (page["next_after"], page["is_complete"]) == (2, False)


async def test_a_stream_is_followed_and_taken_up_again_until_all_was_seen(tmp_path):
    async with listening(tmp_path, executor(odd=odd)) as (port, _), client_at(port) as client:
        run_id = (await post(client, {"agent": "odd"})).json()["run_id"]
        whole = await followed(client, run_id)
        rest = await followed(client, run_id, **{"Last-Event-ID": "2"})
        path = f"/v1/runs/{run_id}/events"
        done = await client.get(path, headers={**_STREAM, "Last-Event-ID": "3"})
        beyond = await followed(client, run_id, **{"Last-Event-ID": "9"})
        head = await client.head(path, headers=_STREAM)
        stranger = await client.get("/v1/runs/5/events", headers=_STREAM)

    assert [frame.id for frame in whole] == ["1", "2", "3"]
    assert [frame.event for frame in whole] == ["run_started", "linesends", "run_succeeded"]
    document = json.loads(whole[1].data)
    assert document["data"] == {"text": "a\u2028b\u0085c \ud83d"}
    assert (document["number"], document["type"]) == (2, "lines\u2028ends\n")
    assert [frame.id for frame in rest] == ["3"]
    assert (done.status_code, done.content) == (204, b"")
    assert [frame.id for frame in beyond] == ["3"]
    assert head.headers["content-type"].startswith("text/event-stream")
    assert fields(stranger, 404) == []


def test_frames_escape_what_some_readers_take_for_the_end_of_a_line():
    frame = build_frame('{"a":"\u2028\u2029\u0085"}'.encode(), number=3, type_="text")

    assert frame == b'id: 3\nevent: text\ndata: {"a":"\\u2028\\u2029\\u0085"}\n\n'
    assert build_frame(b"{}") == b"data: {}\n\n"


async def test_a_silent_stream_carries_comments_and_ends_when_the_server_stops(tmp_path):
    lines = []

    async def read(port, run_id):
        async with (
            client_at(port, headers=_STREAM) as client,
            client.stream("GET", f"/v1/runs/{run_id}/events") as answer,
        ):
            async for line in answer.aiter_lines():
                lines.append(line)  # noqa: PERF401 - one by one, as they come

    async with listening(tmp_path, keep_alive_seconds=0.05) as (port, runs):
        async with client_at(port) as client:
            run_id = (await post(client, {"agent": "waiting"})).json()["run_id"]
        reading = asyncio.create_task(read(port, run_id))
        await until(lambda: "event: waiting" in lines and lines.count(": keep-alive") > 1)
    await reading

    assert runs.statistics().watchers == 0


async def test_streams_are_counted_for_each_tenant(tmp_path):
    bounds = {"api_keys": "ada:k1,bob:k2", "max_watchers": 2, "max_watchers_per_tenant": 1}

    async with listening(tmp_path, **bounds) as (port, runs):

        async def opened(key, run_id):
            client = client_at(port)
            headers = {"X-Api-Key": key, **_STREAM}
            request = client.build_request("GET", f"/v1/runs/{run_id}/events", headers=headers)
            answer = await client.send(request, stream=True)
            return client, answer

        ids = {}
        for key in ("k1", "k2"):
            async with client_at(port, headers={"X-Api-Key": key}) as client:
                ids[key] = (await post(client, {"agent": "waiting"})).json()["run_id"]
        first = await opened("k1", ids["k1"])
        second = await opened("k1", ids["k1"])
        other = await opened("k2", ids["k2"])
        await second[1].aread()
        codes = [answer.status_code for _, answer in (first, second, other)]
        for client, _ in (first, second, other):
            await client.aclose()
        await until(lambda: not runs.statistics().watchers)
        again = await opened("k1", ids["k1"])
        await again[0].aclose()
    refused = second[1]
    again = again[1].status_code

    assert codes == [200, 429, 200]
    assert fields(refused, 429) == []
    assert int(refused.headers["retry-after"]) > 0
    assert again == 200


class _Played:
    """Runs that are followed batch by batch, as the test has them; an error in place of a batch is raised."""

    def __init__(self, *batches):
        self.batches = list(batches)
        self.asked = []

    async def get(self, run_id, *, tenant):
        now = datetime.now(UTC)
        return Run(
            run_id=run_id,
            tenant=tenant,
            agent="a",
            status="running",
            metadata={},
            attempt=1,
            created_at=now,
            started_at=now,
            finished_at=None,
            cancel_requested=False,
            cancel_reason=None,
            last_event=9,
            result=None,
        )

    async def read_events(self, _run_id, *, tenant, after, limit):
        self.asked.append((tenant, after, limit))
        return self.batches[0]

    async def watch_events(self, _run_id, *, tenant, after=0):
        self.asked.append((tenant, after))
        for batch in self.batches:
            if isinstance(batch, Exception):
                self.batches = [one for one in self.batches if one is not batch]
                raise batch
            if batch[-1].number > after:
                yield batch


def _event(number, type_="text"):
    return StoredEvent(number=number, type=type_, created_at=datetime.now(UTC), data={})


async def _follow(tmp_path, runs, *, times=1, routes=(), path="/v1/runs/x/events?after=1"):
    """Return what streams of the same run carry, opened at once."""

    app = build_app(settings_of(tmp_path), executor(), runs, routes=routes)
    async with client_of(app) as client:
        answers = await asyncio.gather(*(client.get(path, headers=_STREAM) for _ in range(times)))
        page = await client.get("/v1/runs/x/events")
    return [answer.text for answer in answers], page


def _ids(text):
    return [line for line in text.splitlines() if line.startswith("id")]


async def test_a_stream_goes_on_when_the_database_has_come_back(tmp_path):
    runs = _Played([_event(2)], DatabaseAwayError(), [_event(3)])

    (text,), _ = await _follow(tmp_path, runs)

    assert runs.asked[:2] == [("default", 1), ("default", 2)]
    assert _ids(text) == ["id: 2", "id: 3"]


async def test_a_stream_that_breaks_ends_so_that_its_client_comes_back(tmp_path, caplog):
    (text,), _ = await _follow(tmp_path, _Played([_event(2)], ZeroDivisionError(), [_event(3)]))

    assert _ids(text) == ["id: 2"]
    assert [record.message for record in caplog.records] == ["a stream of events ended early"]


async def test_what_all_who_watch_get_is_written_once(tmp_path):
    event = _event(2)

    texts, page = await _follow(tmp_path, _Played([event]), times=2)

    assert texts[0] == texts[1]
    assert page.json()["events"][0]["number"] == 2
    assert event.shared["v1 2"].endswith(b"data: " + event.shared["json"] + b"\n\n")


async def test_what_is_kept_for_others_is_bounded_however_many_come_back(tmp_path):
    events = [_event(number) for number in range(2, 12)]
    runs = [_Played(events[first:]) for first in range(9)]

    texts = [(await _follow(tmp_path, one))[0][0] for one in runs]

    assert [len(_ids(text)) for text in texts] == list(range(10, 1, -1))
    assert len(events[-1].shared) == 6


async def test_what_is_emitted_goes_to_those_who_watch_without_being_parsed(tmp_path):
    many, may_go_on, started = 20_000, asyncio.Event(), asyncio.Event()

    async def tell(run):
        started.set()
        await may_go_on.wait()
        # One object, of which only somebody who parses the text makes many.
        await run.tell("many", {"value": [{"a": "é"}] * many})
        await run.tell("few", {"value": "é"})
        return RunResult(status="succeeded")

    async with listening(tmp_path, executor(tell=tell)) as (port, runs), client_at(port) as client:
        path = (await post(client, {"agent": "tell"})).headers["location"]
        await started.wait()
        tracemalloc.start()
        following = asyncio.create_task(client.get(f"{path}/events", headers=_STREAM))
        await until(lambda: runs.statistics().watchers)
        may_go_on.set()
        told = (await following).text
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        again = (await client.get(f"{path}/events", headers=_STREAM)).text

    live, stored = (
        [json.loads(line[6:]) for line in one.splitlines() if line.startswith("data: ")]
        for one in (told, again)
    )
    assert live == stored
    assert live[1]["data"]["value"] == [{"a": "é"}] * many
    assert '"value":"é"' in told
    assert peak < many * 200  # a parsed object takes more


async def test_an_event_that_an_executor_does_not_show_takes_no_frame(tmp_path):
    def project(event):
        return b"" if event.type == "secret" else build_frame(b"{}", number=event.number)

    async def own(request):
        return await stream_events(request, "x", project, view="own", after=1)

    runs = _Played([_event(2, "secret")], [_event(3)])
    (text,), _ = await _follow(tmp_path, runs, routes=[Route("/own", own)], path="/own")

    assert text == "id: 3\ndata: {}\n\n"


async def test_an_answer_that_breaks_off_is_not_answered_twice(tmp_path):
    async def parts():
        yield b"one"
        raise ZeroDivisionError

    async def own(_request):
        return StreamingResponse(parts())

    routes = [Route("/own", own)]
    (text,), _ = await _follow(tmp_path, _Played([_event(2)]), routes=routes, path="/own")

    assert text == "one"

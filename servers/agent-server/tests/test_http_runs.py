import json
import logging
import threading
import tracemalloc

from agents import Scripted
from starlette.responses import JSONResponse
from starlette.routing import Route
from web import asked, ended, executor, fields, post

from agent_server.executor import (
    AgentDescription,
    Problem,
    RequestRefusedError,
    RunResult,
    Usage,
)
from agent_server.http import find_runs, find_tenant, read_json


async def costly(_run):
    usage = Usage(input_tokens=7, output_tokens=2, model_requests=1, cost="0.0123", currency="USD")
    return RunResult(
        status="succeeded", output={"text": "half \ud83d"}, usage=usage, details={"exit": 0}
    )


async def test_a_run_is_accepted_found_and_read_with_what_it_cost(tmp_path):
    async with asked(tmp_path, executor(costly=costly)) as client:
        body = {"agent": "costly", "input": 1, "metadata": {"case": "1"}}
        accepted = await post(client, body)
        run = await ended(client, accepted.json()["run_id"])
        located = await client.get(accepted.headers["location"])
        agents = await client.get("/v1/agents")

    assert accepted.status_code == 202
    assert accepted.json()["status"] == "queued"
    assert located.json() == run
    assert run["metadata"] == {"case": "1"}
    assert run["output"] == {"text": "half \ud83d"}
    assert run["usage"]["cost"] == "0.0123"
    assert run["usage"]["cached_tokens"] is None
    assert run["details"] == {"exit": 0}
    assert run["error"] is None
    assert run["created_at"].endswith("Z")
    names = [one["name"] for one in agents.json()["agents"]]
    assert names == ["echo", "slow", "waiting", "failing", "costly"]


async def test_a_failed_run_says_why(tmp_path):
    async with asked(tmp_path) as client:
        accepted = await post(client, {"agent": "failing"})
        run = await ended(client, accepted.json()["run_id"])

    assert run["status"] == "failed"
    assert run["error"] == {"type": "model_error", "message": "The model is gone."}


async def test_the_same_key_finds_the_same_run_and_refuses_another_body(tmp_path):
    async with asked(tmp_path) as client:
        key = {"Idempotency-Key": "k"}
        first, same, other, long = [
            await post(client, {"agent": "echo", "question": question}, **key)
            for question in ("why", "why", "how")
        ] + [await post(client, {"agent": "echo"}, **{"Idempotency-Key": "x" * 256})]

    assert (first.status_code, same.status_code) == (202, 200)
    assert first.json()["run_id"] == same.json()["run_id"]
    assert same.headers["location"] == first.headers["location"]
    assert fields(other) == fields(long) == ["Idempotency-Key"]


async def test_a_large_request_is_taken_beside_the_loop_and_executed_as_it_came(tmp_path):
    threads = []

    class Noting(Scripted):
        def check(self, agent, request):
            threads.append(threading.current_thread())
            return super().check(agent, request)

    async def count(run):
        return RunResult(status="succeeded", output=len(run.request["input"]))

    async with asked(tmp_path, Noting(count=count)) as client:
        key, many = {"Idempotency-Key": "k"}, {f"m{n}": n for n in range(30_000)}
        taken = [
            await post(client, {"agent": "count", "input": fields}, **key)
            for fields in (many, many, many | {"m0": 1})
        ]
        small = await post(client, {"agent": "count", "input": {"a": 1}})
        runs = [await ended(client, one.json()["run_id"]) for one in (taken[0], small)]
        (first, again, other), outputs = taken, [run["output"] for run in runs]

    assert (first.status_code, again.status_code) == (202, 200)
    assert fields(other) == ["Idempotency-Key"]
    assert outputs == [30_000, 1]
    assert [one is threading.main_thread() for one in threads] == [False, False, False, True]


async def test_runs_are_listed_by_what_they_are_and_page_by_page(tmp_path):
    async with asked(tmp_path) as client:
        for number in range(3):
            body = {"agent": "echo", "metadata": {"n": str(number), "all": "yes"}}
            accepted = await post(client, body)
        await ended(client, accepted.json()["run_id"])
        time = accepted.json()["created_at"].replace("Z", "+00:00")

        async def listed(**query):
            answer = await client.get("/v1/runs", params=query)
            assert answer.status_code == 200, answer.text
            return [run["metadata"]["n"] for run in answer.json()["runs"]]

        page = (await client.get("/v1/runs?limit=2")).json()
        rest = await listed(limit=2, cursor=page["next_cursor"])
        found = {
            "metadata": await listed(**{"metadata[n]": "1", "metadata[all]": "yes"}),
            "status": await listed(status=["cancelled", "failed"]),
            "agent": await listed(agent="failing"),
            "before": await listed(created_before=time),
            "after": await listed(created_after=time),
        }
        unescaped = await client.get(f"/v1/runs?created_after={time}")

    assert [run["metadata"]["n"] for run in page["runs"]] == ["2", "1"]
    assert rest == ["0"]
    none = {"status": [], "agent": [], "after": []}
    assert found == {"metadata": ["1"], "before": ["1", "0"], **none}
    assert unescaped.json() == {"runs": [], "next_cursor": None}


async def test_a_query_that_asks_for_what_there_is_not_is_refused_by_its_name(tmp_path):
    async with asked(tmp_path) as client:
        refused = [
            fields(await client.get(f"/v1/runs?{query}"))
            for query in (
                "status=gone",
                "limit=0",
                "limit=x",
                "limit=1.0",
                "limit=1&limit=2",
                "colour=red",
                "created_after=yesterday",
                "created_after=2026-02-30T00:00:00Z",
                "created_before=0001-01-01T00:00:00%2B14:00",
                "cursor=x",
                "metadata[a%20b]=c",
                "metadata=c",
            )
        ]

    assert refused == [
        ["status.0"],
        ["limit"],
        ["limit"],
        ["limit"],
        ["limit"],
        ["colour"],
        ["created_after"],
        ["created_after"],
        ["created_before"],
        ["cursor"],
        ["metadata.a b"],
        ["metadata"],
    ]


async def test_a_run_is_cancelled_with_a_reason_that_its_clients_read(tmp_path):
    async with asked(tmp_path, concurrency=1) as client:
        running, queued, silent = [
            (await post(client, {"agent": "waiting"})).json()["run_id"] for _ in range(3)
        ]
        path = f"/v1/runs/{running}/cancel"
        asked_for = [
            await client.post(f"/v1/runs/{queued}/cancel", json={"reason": "enough"}),
            await client.post(f"/v1/runs/{silent}/cancel"),
            await client.post(path, content=b"", headers={"Content-Type": "application/json"}),
        ]
        run = await ended(client, running)
        again = await client.post(path, json={"reason": "late"})
        refused = [
            await client.post(path, json={"reason": 3}),
            await client.post(path, json={"why": "x"}),
            await client.post(path, json=None, content=b"null", headers=_JSON),
        ]
        text = await client.post(path, content=b"reason")

    assert asked_for[0].json()["cancel_reason"] == "enough"
    assert [one.status_code for one in asked_for[:2]] == [200, 200]
    assert run["status"] == "cancelled"
    assert run["started_at"] is not None
    assert again.status_code == 200
    assert again.json()["cancel_reason"] is None
    assert [fields(one) for one in refused] == [["reason"], ["why"], ["body"]]
    assert fields(text, 415) == []


_JSON = {"Content-Type": "application/json"}


async def test_a_body_that_is_no_request_is_refused_by_the_field(tmp_path):
    class Strict(Scripted):
        def check(self, agent, request):
            if "input" not in request:
                problem = Problem(field="input" * 1000, message="expected an object")
                raise RequestRefusedError(*[problem] * 200)
            return super().check(agent, request)

    async with asked(tmp_path, Strict()) as client:

        async def sent(content):
            return await client.post("/v1/runs", content=content, headers=_JSON)

        deep = b'{"agent": "echo", "input": ' + b"[" * 500 + b"]" * 500 + b"}"
        bodies = [
            b"{",
            b"\xff",
            b"[]",
            b'{"agent": 3}',
            b'{"agent": "nobody", "input": 1}',
            deep,
        ]
        names = {"metadata": {f"n{number}": "" for number in range(17)}}
        texts = {"metadata": {"n": "x" * 513}}
        refused, many = (
            [fields(await sent(body)) for body in bodies]
            + [
                fields(await sent(json.dumps({"agent": "echo", "input": 1} | more)))
                for more in (names, texts, {"metadata": {"n": 1}})
            ],
            fields(await sent(b'{"agent": "echo"}')),
        )

    assert refused == [
        ["body"],
        ["body"],
        ["body"],
        ["agent"],
        ["agent"],
        ["body"],
        ["metadata"],
        ["metadata.n"],
        ["metadata.n"],
    ]
    assert len(many) == 100
    assert len(many[0]) == 1001


def test_of_a_refusal_a_hundred_problems_are_told_and_long_names_in_part():
    wrong = [Problem(field="x" * 3000, message="y" * 3000)] * 200
    refusal = RequestRefusedError(*wrong)

    assert len(refusal.problems) == 100
    assert [len(refusal.problems[0].field), len(refusal.problems[0].message)] == [1001, 1001]
    assert len(str(refusal)) == 1001


async def test_the_agent_may_be_left_out_where_there_is_only_one(tmp_path):
    class Single(Scripted):
        def agents(self):
            return [AgentDescription(name="echo", input_schema={"type": "object"})]

    async with asked(tmp_path / "one", Single()) as client:
        accepted = await post(client, {"question": "why"})
        run = await ended(client, accepted.json()["run_id"])
    async with asked(tmp_path / "many") as client:
        refused = await post(client, {"question": "why"})

    assert (run["agent"], run["output"]) == ("echo", "why")
    assert fields(refused) == ["agent"]


async def test_what_is_not_there_is_told_as_a_problem(tmp_path):
    async with asked(tmp_path) as client:
        missing, refused, form = (
            [
                await client.get("/v1/nothing"),
                await client.get("/v1/runs/"),
                await client.get("/v1/runs/5"),
                await client.get("/v1/runs/5/events"),
                await client.post("/v1/runs/5/cancel"),
            ],
            await client.delete("/v1/runs"),
            await client.post("/v1/runs", content="agent=echo"),
        )

    assert [fields(one, 404) for one in missing] == [[]] * 5
    assert fields(refused, 405) == []
    assert {one.strip() for one in refused.headers["allow"].split(",")} == {"GET", "HEAD", "POST"}
    assert fields(form, 415) == []


async def test_a_body_over_the_limit_and_too_many_runs_are_refused(tmp_path, caplog):
    bounds = {"max_request_bytes": 1024, "concurrency": 1, "max_active_per_tenant": 2}
    async with asked(tmp_path, **bounds) as client:
        large = await post(client, {"agent": "echo", "question": "x" * 2000})
        for _ in range(2):
            await post(client, {"agent": "waiting"})
        busy, _ = [await post(client, {"agent": "waiting"}) for _ in range(2)]
        metrics = (await client.get("/metrics")).text

    assert fields(large, 413) == []
    assert fields(busy, 429) == []
    assert int(busy.headers["retry-after"]) > 0
    # An operator hears who floods, and not with each request.
    assert 'agent_server_requests_refused_total{status="413"} 1.0' in metrics
    assert 'agent_server_requests_refused_total{status="429"} 2.0' in metrics
    assert caplog.text.count("requests were refused with 429 Too Many Requests") == 1


MANY = 500_000
TEXTS = ["," * 2 * MANY, ":" * 2 * MANY, '"[,' * MANY, '\\"{,' * MANY, "\\\\,[" * MANY]


async def test_a_body_of_very_many_values_is_refused_before_it_is_parsed(tmp_path):
    many = ["[]," * MANY, '"{,",{"a":0},' * MANY, '{"a":' * MANY]
    async with asked(tmp_path) as client:
        for values in (*many, '"a":0,' * 2 * MANY):
            # It is no JSON at its end, which nobody gets to.
            body = f'{{"agent": "echo", "question": [{values}'
            kind = {"Content-Type": "application/json"}
            for path in ("/v1/runs", "/v1/runs/x/input"):
                answer = await client.post(path, content=body, headers=kind)
                assert fields(answer, 413) == []


async def test_what_stands_in_a_text_is_no_value(tmp_path):
    async with asked(tmp_path) as client:
        for text in TEXTS:
            run = (await post(client, {"agent": "echo", "question": [text, "b"]})).json()
            assert run["status"] == "queued"


_WIDE = 9 * 1024 * 1024


async def test_texts_that_would_take_many_times_their_bytes_are_refused(tmp_path):
    wide = [
        "é" * (_WIDE // 2),
        "😀" * (_WIDE // 4),
        "a" * _WIDE + "😀",
        "a" * _WIDE + r"\ud83d\ude00",
        r"\"" * (_WIDE // 2) + "é",
        '", "'.join(["é" * 1000] * (_WIDE // 2000)),
    ]
    kind = {"Content-Type": "application/json"}
    async with asked(tmp_path, max_request_bytes=2 * _WIDE) as client:
        for text in wide:
            body = f'{{"agent": "echo", "question": ["{text}"]}}'.encode()
            answer = await client.post("/v1/runs", content=body, headers=kind)
            assert fields(answer, 413) == []
            assert "not ASCII" in answer.json()["detail"]


async def test_a_few_characters_do_not_have_a_large_body_take_many_times_its_bytes(tmp_path):
    seen = []

    async def take(run):
        seen.append(run.request["said"])
        return RunResult(status="succeeded")

    told = [["A" * _WIDE, "😀 é 你"], ["C:\\😀", "a" * 60]]
    bodies = [json.dumps({"agent": "take", "said": one}, ensure_ascii=False) for one in told]
    bodies = [b"\xef\xbb\xbf" + body.encode() for body in bodies]
    kind = {"Content-Type": "application/json"}
    async with asked(tmp_path, executor(take=take), max_request_bytes=2 * _WIDE) as client:
        tracemalloc.start()
        for body in bodies:
            taken = await client.post("/v1/runs", content=body, headers=kind)
            await ended(client, taken.json()["run_id"])
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        text = '{"agent": "take", "said": "and so on \\😀"}'.encode()
        broken = [text, text.replace(b"\\", b"")[:-3] + b'"}']
        refused = [await client.post("/v1/runs", content=one, headers=kind) for one in broken]

    assert seen == told
    assert peak < 5 * _WIDE
    assert [fields(one) for one in refused] == [["body"], ["body"]]


async def test_what_nobody_expected_is_a_problem_document_and_one_log_entry(tmp_path, caplog):
    class Broken(Scripted):
        is_broken = False

        def agents(self):
            if self.is_broken:
                raise ZeroDivisionError("a secret")
            return super().agents()

    with caplog.at_level(logging.ERROR):
        executor = Broken()
        async with asked(tmp_path, executor) as client:
            executor.is_broken = True
            answer = await client.get("/v1/agents")

    assert fields(answer, 500) == []
    assert "secret" not in answer.text
    assert [record.message for record in caplog.records] == ["a request failed"]


async def test_an_executor_has_routes_of_its_own_behind_the_same_keys(tmp_path):
    async def own(request):
        body = await read_json(request)
        run = await find_runs(request).get(body["run_id"], tenant=find_tenant(request))
        return JSONResponse({"status": run.status})

    routes = [Route("/own", own, methods=["POST"])]

    async with asked(tmp_path, routes=routes, api_keys="ada:k1,bob:k2", key="k1") as client:
        run_id = (await post(client, {"agent": "echo"})).json()["run_id"]
        await ended(client, run_id)
        body = {"run_id": run_id}
        mine = await client.post("/own", json=body)
        others = await client.post("/own", json=body, headers={"Authorization": "Bearer k2"})
        nobody = await client.post("/own", json=body, headers={"Authorization": "Bearer no"})

    assert mine.json() == {"status": "succeeded"}
    assert fields(others, 404) == []
    assert fields(nobody, 401) == []

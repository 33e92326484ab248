"""What a webhook is told of runs, and what happens while it does not listen."""

import asyncio
import json
import logging
import time
from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from agents import Scripted, engine, eventually, finish, pay, query, start, stopwatch, until
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from receiver import Receiver

from agent_server.executor import RunResult
from processes import ServerProcess


# Messages as a server left them that could not send them.
LEFT = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
INSERT INTO agent_webhooks (id, executor, run_id, tenant, agent, status, wait_id, created_at, next_at, tries)
SELECT 'msg_' || n, '{executor}', 'r', 'ada', 'echo', 'waiting', 'w' || n, {created_at}, {next_at}, 0 FROM numbers
"""
HIDDEN = "only for the client"


@pytest.fixture(autouse=True)
def _patient(monkeypatch):
    """Wait for whatever the webhook answers: on a busy machine it takes longer than ten seconds to answer."""
    monkeypatch.setattr("agent_server._engine.webhook_sender._ANSWER_SECONDS", 600)


def leave(database, *, count=1, age=0, next_at=0, executor="scripted"):
    """Leave messages in the database, as a server does that is killed; the age is in seconds."""
    created_at = int((time.time() - age) * 1e6)
    query(
        database,
        LEFT.format(count=count, executor=executor, created_at=created_at, next_at=next_at),
    )


def left(database):
    return query(database, "SELECT id, tries, next_at FROM agent_webhooks ORDER BY id")


def hurry(database):
    """Have all messages sent again now."""
    query(database, "UPDATE agent_webhooks SET next_at = 0")


async def fail(_run):
    raise ValueError(HIDDEN)


async def sleep(_run):
    await asyncio.sleep(600)


async def answer(run):
    await run.tell("text", {"text": HIDDEN})
    return RunResult(status="succeeded", output=HIDDEN)


@pytest.mark.parametrize(
    ("agent", "status"), [("answer", "succeeded"), ("fail", "failed"), ("sleep", "cancelled")]
)
async def test_the_end_of_a_run_is_told_once_signed_and_without_content(database, agent, status):
    executor = Scripted(answer=answer, fail=fail, sleep=sleep)

    with Receiver() as receiver:
        async with engine(database, executor, **receiver.settings) as runs:
            run_id = await start(
                runs, agent, request={"question": HIDDEN}, metadata={"case": HIDDEN}
            )
            if status == "cancelled":
                await until(runs, run_id, lambda run: run.status == "running")
                await runs.cancel(run_id, tenant="ada", reason=HIDDEN)
            run = await finish(runs, run_id)
            await eventually(lambda: receiver.calls)
            await eventually(lambda: not left(database))
            await asyncio.sleep(0.5)

    (call,) = receiver.calls
    told = call.verify()
    happened = datetime.fromisoformat(told.pop("timestamp"))
    assert call.path == "/hook?token=hidden"
    assert call.headers["content-type"] == "application/json"
    assert told == {
        "type": f"run.{status}",
        "data": {"run_id": run_id, "agent": agent, "tenant": "ada", "status": status},
    }
    assert run.started_at <= happened <= datetime.fromtimestamp(call.came_at, UTC)
    assert HIDDEN not in call.body


async def test_a_run_that_waits_is_told_with_the_id_of_the_wait(database):
    with Receiver() as receiver:
        async with engine(database, Scripted(pay=pay), **receiver.settings) as runs:
            run_id = await start(runs, "pay")
            await eventually(lambda: receiver.calls)
            waiting_for = (await runs.get(run_id, tenant="ada")).waiting_for

    told = receiver.calls[0].verify()
    assert told["type"] == "run.waiting"
    assert (told["data"]["run_id"], told["data"]["wait_id"]) == (run_id, waiting_for.wait_id)


async def test_a_run_that_ends_without_being_executed_is_told(database):
    with Receiver() as receiver:
        async with engine(
            database, Scripted(sleep=sleep), concurrency=1, **receiver.settings
        ) as runs:
            await start(runs, "sleep")
            run_id = await start(runs)
            await runs.cancel(run_id, tenant="ada")
            await eventually(lambda: receiver.calls)

    assert receiver.calls[0].verify()["data"]["run_id"] == run_id


@pytest.mark.parametrize("status", [302, 400, 500])
async def test_what_was_not_taken_is_sent_again_later_with_its_id(database, status, caplog):
    caplog.set_level(logging.DEBUG)

    # Each time by a server of its own, so that nothing is sent while the test looks; it does nothing by itself that soon.
    still = {"stop_seconds": 600, "lease_seconds": 600}
    with Receiver(*[status] * 4, 204) as receiver:
        for tries, shortest, longest in ((1, 4, 6), (2, 8, 12)):
            async with engine(database, **still, **receiver.settings) as runs:
                for _ in range(2 if tries == 1 else 0):
                    await finish(runs, await start(runs))
                await eventually(lambda tries=tries: len(receiver.calls) == 2 * tries)
            for message, tried, next_at in left(database):
                last = [call for call in receiver.calls if call.id == message][-1]
                assert tried == tries
                assert next_at / 1e6 - last.came_at > shortest
                assert next_at / 1e6 - time.time() < longest
            hurry(database)
        async with engine(database, **still, **receiver.settings):
            await eventually(lambda: not left(database))

    assert {one.path for one in receiver.calls} == {"/hook?token=hidden"}
    assert list(Counter(one.id for one in receiver.calls).values()) == [3, 3]
    assert len({(one.id, one.body) for one in receiver.calls}) == 2
    assert receiver.calls[-1].verify()["type"] == "run.succeeded"
    # Once for each server that was refused, and not for each message.
    lines = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    assert (
        lines
        == [
            f"webhook: {receiver.url.removesuffix('/hook')} did not accept a message, which is sent again: it answered {status}"
        ]
        * 2
    )
    assert "hidden" not in caplog.text
    assert receiver.settings["webhook_secret"] not in caplog.text


async def test_a_webhook_that_is_not_there_holds_no_run_up_and_is_told_later(database, caplog):
    with Receiver() as receiver:
        gone = receiver.settings
    async with engine(database, **gone) as runs:
        ids = {await start(runs) for _ in range(20)}
        for run_id in ids:
            await finish(runs, run_id)
        await eventually(lambda: runs.statistics().webhook_messages == 20)
    with Receiver() as receiver:
        hurry(database)
        async with engine(database, **receiver.settings):
            await eventually(lambda: not left(database))

    assert {run_id for _, run_id in receiver.told} == ids
    assert len(receiver.told) == 20
    assert ": ConnectError: All connection attempts failed" in caplog.text
    assert "hook" not in caplog.text.replace("webhook", "")
    assert "hidden" not in caplog.text


async def test_a_webhook_that_does_not_answer_holds_no_run_up(database):
    with Receiver() as receiver:
        receiver.answers.clear()
        async with engine(database, **receiver.settings) as runs:
            ids = [await start(runs) for _ in range(20)]
            ended = [await finish(runs, run_id) for run_id in ids]
            await eventually(lambda: len(receiver.calls) == 8)
            # What comes while it has enough to wait for has to wait as well.
            ended.append(await finish(runs, await start(runs)))
            began = time.monotonic()
        seconds = time.monotonic() - began
        under_way = len(receiver.calls)

    assert [run.status for run in ended] == ["succeeded"] * 21
    assert under_way == 8
    assert seconds < 300
    assert len(left(database)) == 21


async def test_a_webhook_that_never_comes_to_its_answer_holds_no_run_up(
    database, monkeypatch, caplog
):
    # Each is given up by itself, and not sent again meanwhile.
    monkeypatch.setattr("agent_server._engine.webhook_sender._FIRST_PAUSE_SECONDS", 600)
    early = b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n"
    with Receiver(flood=early * 1_000) as receiver:
        async with engine(database, **receiver.settings) as runs:
            async with stopwatch() as seconds:
                ids = [await start(runs) for _ in range(10)]
                ended = [await finish(runs, run_id) for run_id in ids]
            await eventually(lambda: [tries for _, tries, _ in left(database)] == [1] * 10)

    assert [run.status for run in ended] == ["succeeded"] * 10
    assert seconds() < 60
    assert ": RemoteProtocolError: no answer in HTTP" in caplog.text


def make_certificate(path):
    """Write a certificate of this machine that nobody has signed but itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    address = x509.IPAddress(ip_address("127.0.0.1"))
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    path.write_bytes(key.private_bytes(encoding, form, plain) + certificate.public_bytes(encoding))


async def test_a_webhook_is_told_only_if_its_certificate_is_trusted(tmp_path, monkeypatch, caplog):
    certificate = tmp_path / "certificate.pem"
    make_certificate(certificate)
    database = f"sqlite:///{tmp_path / 'runs.sqlite'}"

    with Receiver(certificate=certificate) as receiver:
        async with engine(database, **receiver.settings) as runs:
            await finish(runs, await start(runs))
            await eventually(lambda: "ConnectError" in caplog.text)
        untrusted = list(receiver.calls)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        hurry(database)
        async with engine(database, **receiver.settings):
            await eventually(lambda: not left(database))

    assert untrusted == []
    assert receiver.calls[0].verify()["type"] == "run.succeeded"


async def test_a_server_that_stops_ends_what_it_is_sending(database):
    with Receiver() as receiver:
        receiver.answers.clear()
        async with engine(database, stop_seconds=600, **receiver.settings) as runs:
            await finish(runs, await start(runs))
            await eventually(lambda: receiver.calls)
            began = time.monotonic()
            asyncio.get_running_loop().call_later(0.5, receiver.answers.set)
        seconds = time.monotonic() - began

    assert left(database) == []
    assert 0.4 < seconds < 300


async def test_a_run_that_ends_while_its_server_stops_is_told(database, monkeypatch):
    stops, loop = asyncio.Event(), asyncio.get_running_loop()

    async def end_late(_run):
        await stops.wait()
        return RunResult(status="succeeded")

    async def let_time_pass():
        await eventually(lambda: receiver.told)
        await eventually(lambda: not left(database))
        before = loop.time
        monkeypatch.setattr(loop, "time", lambda: before() + 600)

    executor = Scripted(end_late=end_late, sleep=sleep)
    with Receiver() as receiver:
        async with engine(database, executor, stop_seconds=600, **receiver.settings) as runs:
            ids = [await start(runs, agent) for agent in ("end_late", "sleep")]
            # The second keeps the server for as long as it may.
            for run_id in ids:
                await until(runs, run_id, lambda run: run.status != "queued")
            passing = asyncio.create_task(let_time_pass())
            stops.set()
        await passing

    assert [told for _, told in receiver.told] == ids[:1]
    assert left(database) == []


@pytest.mark.usefixtures("living")
async def test_servers_that_share_a_database_tell_each_run_once(database):
    with Receiver() as receiver:
        async with AsyncExitStack() as stack:
            servers = [
                await stack.enter_async_context(engine(database, **receiver.settings))
                for _ in range(2)
            ]
            ids = [await start(runs) for runs in servers * 15]
            for run_id in ids:
                await finish(servers[0], run_id)
            await eventually(lambda: not left(database))

    assert Counter(run_id for _, run_id in receiver.told) == Counter(ids)


async def test_without_a_webhook_nothing_is_kept_for_one(database):
    async with engine(database) as runs:
        await finish(runs, await start(runs))

    assert left(database) == []


async def test_what_is_about_runs_of_other_executors_is_left_to_their_servers(database):
    async with engine(database):
        pass
    leave(database, executor="another")

    with Receiver() as receiver:
        async with engine(database, **receiver.settings) as runs:
            await finish(runs, await start(runs))
            await eventually(lambda: receiver.calls)
            await eventually(lambda: len(left(database)) == 1)

    assert [one.id for one in receiver.calls if one.id == "msg_1"] == []


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ({"count": 3, "age": 3 * 24 * 3600 + 600}, 0),
        ({"count": 3, "age": 3 * 24 * 3600 - 600}, 3),
        ({"count": 100_003}, 100_000),
    ],
)
async def test_messages_that_are_too_old_or_too_many_are_dropped(database, caplog, messages, kept):
    async with engine(database):
        pass
    leave(database, next_at=2**62, **messages)

    async with engine(database):
        await eventually(
            lambda: query(database, "SELECT count(*) FROM agent_webhooks") == [(kept,)]
        )
        # It tells that once it has found no more of them.
        await eventually(lambda: kept == messages["count"] or "were dropped" in caplog.text)
        await asyncio.sleep(0.5)

    assert query(database, "SELECT count(*) FROM agent_webhooks") == [(kept,)]
    lines = [one.getMessage() for one in caplog.records if "webhook" in one.getMessage()]
    number = messages["count"] - kept
    expected = f"webhook: {number} messages were dropped: at most 100,000 are kept, each for at most 3 days"
    assert lines == ([expected] if number else [])


async def test_what_a_server_was_sending_when_it_was_killed_is_sent_again_with_its_id(database):
    with Receiver() as receiver:
        receiver.answers.clear()
        server = ServerProcess("telling_server.py", database, *receiver.settings.values())
        try:
            await eventually(lambda: receiver.calls)
        finally:
            server.kill()
        ((message, tries, next_at),) = left(database)
        receiver.answers.set()
        seconds = next_at / 1e6 - receiver.calls[0].came_at
        hurry(database)
        async with engine(database, **receiver.settings):
            await eventually(lambda: not left(database))

    first, second = receiver.calls
    assert first.id == second.id == message
    assert json.loads(first.body) == second.verify()
    assert tries == 1
    assert 0 < seconds < 31

"""What stands in histories: values that come back as they went, encrypted where there are keys, and beside them where they are large."""

import pytest
from served import Whole, settings_of
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
    StorageDriverWorkflowInfo,
)

from agent_server.engine import EngineError, RunService, StorageError
from agent_server.executor import (
    Approval,
    InputAnswer,
    InputRequest,
    Question,
    RunResult,
    Usage,
    WaitingCall,
)
from agent_server.runs import NewAnswer, NewRun
from agent_server.store import Hold, open_store
from agent_temporal import _address, _messages, _payloads  # noqa: PLC2701 - what travels


KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
CALL = WaitingCall(call_id="c1", name="pay", arguments="{}", server="bank")
HOLD = Hold(seq=3, server="owner", attempt=2)
HELD = _messages.HeldRun.of(HOLD)
TOLD = _messages.Told(first=2, events=[("text", 5, {"text": "hä \ud800"})])
REQUEST = InputRequest(approvals=[CALL], results=[CALL], question=Question(text="?", schema={}))
ANSWER = InputAnswer(
    approvals={"c1": Approval(approved=False, reason="no")}, results={"c1": [1]}, answer="yes"
)
RESULT = RunResult(
    status="succeeded", output={"a": [1]}, usage=Usage(cost="0.1"), details={"b": 1}, state=b"\xff"
)
ASKED = _messages.Asked.of("w" * 32, REQUEST)
GIVEN = _messages.Given.of(ANSWER)
MESSAGES = [
    _messages.Begin(run_id="r", owner="o"),
    _messages.Begun(held=HELD, request={"a": 1}, state="AA==", given=GIVEN, steps={"a": "AA=="}),
    _messages.Begun(asked=ASKED),
    _messages.MakeStep(held=HELD, key="k", told=TOLD),
    _messages.Tell(held=HELD, told=TOLD),
    _messages.Wait(held=HELD, asked=ASKED, state="AA==", told=TOLD),
    _messages.End(run_id="r", held=HELD, told=TOLD, result=_messages.Ended.of(RESULT)),
    _messages.Answer.of("r", "t", NewAnswer(wait_id="w", answer=ANSWER, key="k")),
    _messages.Execute(run_id="r"),
    _messages.Executed(asked=ASKED),
    _messages.Summary(status="cancelled", abandoned=["a"]),
]


class Same:
    """A store that keeps nothing, and whose key is a letter."""

    def encrypt(self, content):
        return b"x" + content

    def decrypt(self, stored):
        return stored[1:]


@pytest.mark.parametrize("encrypts", [True, False])
@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
async def test_a_message_comes_back_as_it_went(message, encrypts):
    converter = _payloads.build_converter(Same(), encrypts=encrypts)
    sent = await converter.encode([message])
    [received] = await converter.decode(sent, [type(message)])
    [again] = await converter.encode([received])

    assert type(received) is type(message)
    assert again == sent[0]
    assert (sent[0].metadata["encoding"] == b"binary/agent-server-encrypted") is encrypts


def test_what_is_said_means_the_same_on_the_other_side():
    new = NewAnswer(wait_id="w", answer=ANSWER, key="k")

    assert HELD.to_hold() == HOLD
    assert ASKED.to_request() == REQUEST
    assert _messages.Asked.of("w", InputRequest(approvals=[CALL])).to_request().question is None
    assert GIVEN.to_answer() == ANSWER
    assert _messages.Answer.of("r", "t", new).to_new() == new
    assert _messages.Ended.of(RESULT).to_result() == RESULT
    assert _messages.Ended.of(RunResult(status="failed")).to_result().state is None
    assert _messages.Ended(status="cancelled").to_result() is None
    assert TOLD.to_telling().events[0].text == b'{"text":"h\\u00e4 \\ud800"}'
    assert MESSAGES[5].to_waiting().state == b"\0"


async def test_what_was_stored_before_there_were_keys_is_read():
    plain = await _payloads.build_converter(Same(), encrypts=False).encode(["a"])

    assert await _payloads.build_converter(Same(), encrypts=True).decode(plain) == ["a"]


async def test_what_is_large_stands_beside_its_run(tmp_path):
    executor = Whole()
    settings = settings_of(tmp_path, storage_keys=KEY)
    async with open_store(settings, executor, engine="temporal") as store:
        runs = RunService(store.parts, executor, lambda: store.executing)
        run, _ = await runs.create(NewRun(tenant="t", agent="echo", request={}))
        target = StorageDriverWorkflowInfo(id=run.run_id, namespace="tests")
        context = StorageDriverStoreContext(target=target)
        converter = _payloads.build_converter(store, encrypts=True)._with_contexts(None, context)
        text = "secret " * 5000
        [sent] = await converter.encode([text])
        [received] = await converter.decode([sent])
        driver = _payloads.RunStorage(store)
        [claim] = await driver.store(context, [Payload(data=b"x")])
        claim.claim_data["id"] = "0" * 64
        with pytest.raises(StorageError):
            await driver.retrieve(StorageDriverRetrieveContext(), [claim])
        with pytest.raises(ValueError, match="target"):
            await driver.store(StorageDriverStoreContext(), [Payload()])

    assert received == text
    assert sent.ByteSize() < 1000


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("temporal://127.0.0.1:7233/default", "127.0.0.1:7233"),
        ("temporal://[::1]:7233/default/", "[::1]:7233"),
        ("temporal://a.b-c.example:1/default", "a.b-c.example:1"),
    ],
)
def test_an_address_is_read(url, target):
    read = _address.Address.parse(url)

    assert (read.target, read.namespace) == (target, "default")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "temporal://a/b",
            "temporal://a:1",
            "temporal://a:1/",
            "temporal://a:x/b",
            "temporal://a:65536/b",
            "http://a:1/b",
        ),
        *("temporal://a:1/b?c", "temporal://a:1/b/c", "temporal://u@a:1/b", "temporal://a:1/b c"),
    ],
)
def test_another_address_is_refused(url):
    with pytest.raises(EngineError, match="engine: expected temporal://"):
        _address.Address.parse(url)

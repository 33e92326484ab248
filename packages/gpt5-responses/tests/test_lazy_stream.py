import threading

import pytest
from wire import make_pacer

from gpt5_messages import ResponseStarted
from gpt5_responses import AuthenticationError, Connection, ResponseStream, Transport
from gpt5_simulator import HttpError, LateError, ResponsesSimulator, Silence


REQUEST = {"model": "gpt-5.2", "input": "Hello there", "stream": True, "store": False}


def unopened(server: ResponsesSimulator, transport: Transport) -> ResponseStream:
    connection = Connection(api_key="k", base_url=server.base_url, max_retries=0)
    return ResponseStream(connection, REQUEST, transport=transport)


def test_nothing_is_sent_before_somebody_reads(transport: Transport) -> None:
    with ResponsesSimulator() as server:
        stream = unopened(server, transport)
        before = (len(server.requests), stream.event_count, stream.request_id)
        assert stream.completion.status == "in_progress"
        assert stream.last_event_type is None
        list(stream)

    assert before == (0, 0, None)
    assert (len(server.requests), stream.completion.status) == (1, "completed")
    assert stream.request_id
    assert stream.last_event_type == "response.completed"
    assert stream.event_count > 5


def test_a_refusal_is_raised_to_the_reader(transport: Transport) -> None:
    with (
        ResponsesSimulator(faults=[HttpError(status=401)]) as server,
        pytest.raises(AuthenticationError),
    ):
        list(unopened(server, transport))


def test_the_event_that_failed_the_response_is_known(transport: Transport) -> None:
    with ResponsesSimulator(faults=[LateError()]) as server:
        stream = unopened(server, transport)
        with pytest.raises(Exception, match="failed"):
            list(stream)

    assert stream.last_event_type == "error"


def test_closing_while_the_server_is_silent_ends_the_reader(transport: Transport) -> None:
    with ResponsesSimulator(faults=[Silence(after_events=1)]) as server:
        stream = unopened(server, transport)
        batches = make_pacer().pace(stream.batches, close=stream.close)
        assert isinstance(next(batches)[0], ResponseStarted)
        readers = [thread for thread in threading.enumerate() if thread.name == "stream-reader"]
        batches.close()
        for reader in readers:
            reader.join(timeout=120)

        assert not any(reader.is_alive() for reader in readers)


def test_a_stream_that_was_closed_before_it_was_opened_has_no_events(transport: Transport) -> None:
    with ResponsesSimulator() as server:
        stream = unopened(server, transport)
        stream.close()
        stream.open()

        assert list(stream) == []
    assert server.requests == []


def test_a_stream_that_is_closed_while_it_is_being_opened_has_no_events() -> None:
    class Overtaken(Transport):
        def send(self, *arguments: object, **named: object) -> object:
            sent = super().send(*arguments, **named)
            stream.close()
            return sent

    with ResponsesSimulator(faults=[Silence(after_events=1)]) as server:
        transport = Overtaken()
        stream = unopened(server, transport)

        assert list(stream) == []
        transport.close()


def test_a_stream_is_opened_once(transport: Transport) -> None:
    with ResponsesSimulator() as server, unopened(server, transport) as stream:
        stream.open()
        stream.open()
        assert list(stream)
        assert list(stream) == []

    assert len(server.requests) == 1


def test_a_silence_before_the_answer_begins_is_broken_too() -> None:
    """A response that is not streamed says nothing, not even its headers, before it is whole."""
    go_on = threading.Event()

    class Waiting(Transport):
        def send(self, *arguments: object, **named: object) -> object:
            go_on.wait()
            return super().send(*arguments, **named)

    with ResponsesSimulator() as server:
        transport = Waiting()
        batches = make_pacer(keep_alive_seconds=0.01).pace(unopened(server, transport).batches)
        assert next(batches) == next(batches) == []
        go_on.set()
        assert [batch for batch in batches if batch]
        transport.close()

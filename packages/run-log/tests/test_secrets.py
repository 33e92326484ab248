"""No secret is written, whatever field it stands in and however it is escaped or cut."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import SecretStr
from written import find, read_lines, temporary_log, write_everything

from run_log import RunFile, RunWriter
from stream_text import KnownSecrets


SECRET = 'hun"ter/22 ö'
FORMS = [
    SECRET,
    quote(SECRET),
    json.dumps(SECRET),
    json.dumps(json.dumps(SECRET)),
    repr(SECRET.encode()),
    json.dumps({"note": [SECRET]}, ensure_ascii=False),
]
LOOKING = [
    "sk-proj-abcdefgh12345678",
    "Authorization: Bearer abcdefgh12345678",
    "https://admin:abcdefgh12345678@example.test/",
    '{"password": "abcdefgh12345678"}',
    '{"password": 1, "password": "abcdefgh12345678", "note": "sk-abcdefgh12345678"}',
    'password="abcdefgh12345678"',
]


def everything(run):
    """Return all that a file holds, with every escape undone that JSON has."""
    raw = run.path.read_text("utf-8")
    return raw + json.dumps(
        [RunFile(run.path).expand(record) for record in read_lines(run)], ensure_ascii=False
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [0, 5_000])
def test_a_known_secret_stands_in_no_field_of_no_record(form, size):
    with temporary_log(known=[SECRET], about={"program": form, form: form}) as log:
        run = log.begin({"question": form})
        write_everything(run, f"{form}{'.' * size}")
        kinds = {record["type"] for record in read_lines(run)}
        text = everything(run)
        assert kinds >= {"start", "request", "delta", "answer", "call", "bound", "result", "end"}
        assert "[redacted]" in text
        for each in FORMS:
            assert each not in text
        assert "ter/22" not in text


@pytest.mark.parametrize("form", FORMS)
def test_a_file_with_a_known_secret_is_not_written(form):
    content = f"# A file of some length{'.' * 600}\n{form}\n".encode()
    encoded = base64.b64encode(content).decode()
    url = f"data:text/plain;base64,{base64.b64encode(form.encode()).decode()}"
    safe = base64.urlsafe_b64encode(content).decode()
    with temporary_log(known=[SECRET]) as log:
        with log.begin() as run:
            run.request(1, [{"files": [content, encoded, url, safe, bytearray(b"fine")]}], {})
        [request] = RunFile(run.path).iter_requests()
        gone = base64.b64encode(b"[redacted]").decode()
        assert request.messages == [
            {"files": [{"$bytes": gone}, *["[redacted]"] * 3, {"$bytes": "ZmluZQ=="}]}
        ]


@pytest.mark.parametrize("text", LOOKING)
def test_what_looks_like_a_secret_stands_in_no_record(text):
    with temporary_log(about={"program": text}) as log:
        run = log.begin()
        write_everything(run, text)
        assert "abcdefgh12345678" not in everything(run)


def test_a_secret_in_json_is_found_by_the_name_above_it():
    text = '{"password": {"value": ["abcdefgh12345678"]}}'
    with temporary_log(about={text: {"session token": ["abcdefgh12345678"]}}) as log:
        with log.begin() as run:
            run.request(1, [text, {"content": [text]}], {"tool_choice": text})
            for piece in (text[:20], text[20:]):
                run.delta(1, piece)
            run.answer(1, calls=[{"arguments": text}])
            run.call("c1", "a", text)
            run.result("c1", "done", [text], error=text, cause=ValueError(text))
            run.error(ValueError(text))
        assert "abcdefgh" not in everything(run)


@given(st.data())
def test_a_secret_that_pieces_cut_through_is_not_written(data):
    form = data.draw(st.sampled_from([*FORMS, *LOOKING]))
    before = data.draw(st.sampled_from(["", "It is ", "a b c d e f g ", "{", "[1] ", '"', "to=\n"]))
    text = f"{before}{form}{data.draw(st.sampled_from(['', ' and so on, and on and on']))}"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    with temporary_log(known=[SECRET]) as log:
        with log.begin() as run:
            run.request(1, [], {})
            for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
                run.delta(1, text[start:end])
            run.answer(1)
        assert "ter/22" not in everything(run)
        assert "abcdefgh12345678" not in everything(run)


WORDS = st.sampled_from(
    [
        *(
            "password",
            "token",
            "api key",
            " ",
            "  ",
            "\n",
            ":",
            "=",
            ": ",
            '"',
            '\\"',
            "'",
            "{",
            "}",
        ),
        *(
            "sk-",
            "abcdefgh",
            "bearer ",
            "Cookie: ",
            "a=b; c",
            "://",
            "user:pw@",
            "and",
            "so on",
            "1,",
        ),
        *(SECRET, SECRET[:5], SECRET[5:], "\\", "%22", "x" * 300),
    ]
)


@given(st.lists(WORDS, max_size=30), st.sets(st.integers(0, 60), max_size=10))
@example(words=["token", " ", ":", " ", "and", " ", "so on", " a b c d e"], cuts={6, 8})
def test_deltas_together_are_the_text_as_a_message_has_it(words, cuts):
    text = "".join(words)
    assume(text)
    edges = sorted(cut for cut in cuts if cut < len(text))
    with temporary_log(known=[SECRET]) as log:
        with log.begin() as run:
            run.request(1, [], {})
            for start, end in zip([0, *edges], [*edges, len(text)], strict=True):
                run.delta(1, text[start:end])
            run.answer(1)
            run.request(2, [{"content": text}], {})
        *_, request = RunFile(run.path).iter_requests()
        assert (
            "".join(delta["text"] for delta in find(run, "delta")) == request.messages[0]["content"]
        )


def test_what_holds_no_secret_stays_to_the_byte():
    arguments = '{ "max_tokens": 5,\n"query" :"keys to the monkey house", "n": [1.50]}'
    picture = f"data:image/png;base64,{'sk-abcdefgh' * 100}"
    with temporary_log() as log:
        with log.begin() as run:
            run.call("c1", "find", arguments)
            run.request(1, [{"content": [{"image_url": picture}]}], {})
        [request] = RunFile(run.path).iter_requests()
        assert find(run, "call")[0]["arguments"] == arguments
        assert request.messages == [{"content": [{"image_url": picture}]}]


def test_a_tools_schema_keeps_parameters_that_have_the_names_of_secrets():
    schema = {"properties": {"api_key": {"type": "string"}, "token": {"type": "integer"}}}
    tools = [{"name": "a", "parameters": schema}]
    with temporary_log() as log:
        with log.begin() as run:
            run.request(1, [{"content": "hi", "api_key": "abc"}], {"tools": tools})
        [request] = RunFile(run.path).iter_requests()
        assert request.settings == {"tools": tools}
        assert request.messages == [{"content": "hi", "api_key": "[redacted]"}]


def test_hidden_values_are_known_from_then_on():
    hidden = {"key": ["unguessable", {"id": 12345678}], "password": SecretStr("reveal-me"), "n": 3}
    text = "unguessable 12345678 reveal-me bytes-too 3 " + "x" * 5_000
    with temporary_log() as log:
        with log.begin() as run:
            run.result("c0", "done", text)
            run.hide([*hidden.values(), b"bytes-too", object(), None])
            run.bound("c1", {"a": 12345678, "key": "unguessable"}, ["key", "password"])
            run.result("c1", "done", text)
        [bound] = find(run, "bound")
        masked = {"a": "[redacted]", "key": "[hidden]", "password": "[hidden]"}
        assert bound["arguments"] == masked
        known, unknown = [RunFile(run.path), find(run, "result")][1]
        file = RunFile(run.path)
        list(file.iter_records())
        assert file.expand(known["content"]) == text
        redacted = "[redacted] [redacted] [redacted] [redacted] 3 " + "x" * 5_000
        assert file.expand(unknown["content"]) == redacted


def test_a_hidden_fraction_stands_nowhere():
    with temporary_log() as log:
        with log.begin() as run:
            run.hide([0.73125, {"limit": 1250000.0}])
            given = {"share": 0.73125, "limits": [1250000, 1250000.0], "rest": 0.5}
            run.bound("c1", given, [])
            run.result("c1", "done", "0.73125 of 1250000")
        [bound], [result] = (find(run, kind) for kind in ("bound", "result"))

    masked = {"share": "[redacted]", "limits": ["[redacted]", "[redacted]"], "rest": 0.5}
    assert bound["arguments"] == masked
    assert result["content"] == "[redacted] of [redacted]"


def test_what_a_name_says_is_a_secret_stands_nowhere():
    pair = {"name": "password", "value": "unguessable"}
    with temporary_log() as log:
        with log.begin() as run:
            run.bound("c1", {"fields": [pair, {"name": "city", "value": "Oslo"}]}, [])
            run.result("c1", "done", f"Set: {json.dumps(pair)}")
        [bound], [result] = (find(run, kind) for kind in ("bound", "result"))

    named = {"name": "password", "value": "[redacted]"}
    assert bound["arguments"] == {"fields": [named, {"name": "city", "value": "Oslo"}]}
    assert "unguessable" not in result["content"]


def test_values_that_contain_themselves_can_be_hidden():
    ring = ["unguessable"]
    ring.append(ring)
    with temporary_log() as log:
        with log.begin() as run:
            run.hide([ring])
            run.call("c1", "a", "unguessable")
        assert find(run, "call")[0]["arguments"] == "[redacted]"


def test_secrets_come_ready_made_too():
    with temporary_log(known=KnownSecrets(["abc"], shortest=3)) as log:
        with log.begin() as run:
            assert isinstance(run, RunWriter)
            run.call("c1", "a", "abc")
        assert find(run, "call")[0]["arguments"] == "[redacted]"


def test_what_a_model_thinks_aloud_for_its_server_alone_is_hidden():
    part = {"type": "text", "text": f"They want noon. {'.' * 5_000}"}
    aloud = {"type": "reasoning", "id": "rs_1", "made_by": "0a", "summary": [part]}
    sealed = {"type": "reasoning", "summary": ["Hm."], "encrypted_content": "gAAA"}
    items = [{**aloud, "content": [part], "encrypted_content": "They want noon."}, sealed]
    body = {"responses_output": items}
    with temporary_log() as log:
        run = log.begin({})
        run.answer(1, opaque_body=body)
        run.request(2, [{"role": "assistant", "content": "Noon.", "opaque_body": body}], {})
        run.close()
        [answer], [request] = (find(run, kind) for kind in ("answer", "request"))
        assert "They want" not in everything(run)
    assert answer["opaque_body"] == request["added"][0]["opaque_body"]
    shown, kept = answer["opaque_body"]["responses_output"]
    hidden = dict.fromkeys(("content", "summary", "encrypted_content"), "[hidden]")
    assert (shown, kept) == ({**aloud, **hidden}, sealed)

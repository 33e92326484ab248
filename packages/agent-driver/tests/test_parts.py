"""What tools return in parts reaches the model as it is, and a person as its texts and the kinds of the rest."""

import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted import Script, ask, use

from agent_loop import AgentRun, Failure, ShowText, ToolCallEnded


DATA = st.binary(min_size=30, max_size=60).map(lambda data: base64.b64encode(data).decode())
URLS = st.text(min_size=1, max_size=9).map("https://x.example/".__add__)
MEDIA = {
    "image": ["url", "image_url", "data", "base64_data", "file_id"],
    "file": ["url", "file_url", "data", "base64_data", "file_data", "file_id"],
}
TEXTS = st.fixed_dictionaries(
    {"type": st.just("text"), "text": st.text(max_size=50)}, optional={"note": st.integers()}
)
OTHERS = st.sampled_from([(kind, name) for kind, names in MEDIA.items() for name in names]).flatmap(
    lambda pair: st.fixed_dictionaries(
        {"type": st.just(pair[0]), pair[1]: DATA if "data" in pair[1] else URLS},
        optional={"filename": st.text(max_size=9), "detail": st.sampled_from(["low", "high"])},
    )
)
RESULTS = st.lists(st.text(max_size=50) | TEXTS | OTHERS, min_size=1, max_size=9).filter(
    lambda parts: any(isinstance(part, dict) for part in parts)
)


def to_sent(result):
    """Return what the model has to read: every part as it is, a bare text as a part, nothing for no text."""
    parts = ({"type": "text", "text": p} if isinstance(p, str) else p for p in result if p)
    return tuple(parts)


def encoded(result):
    return [v for part in result if isinstance(part, dict) for k, v in part.items() if "data" in k]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(results=st.lists(RESULTS, min_size=1, max_size=4), yields=st.booleans())
def test_any_mixture_of_parts_arrives_in_order_and_byte_for_byte(play, results, yields):
    def draw(number: int):
        """Draw."""
        return iter(results[number]) if yields else results[number]

    calls = [use("draw", json.dumps({"number": n}), f"c{n}") for n in range(len(results))]
    model = Script(ask(*calls), "done")
    events = play(AgentRun([], maximum_iterations=5), model, [draw])

    told = [message.content for message in model.requests[1].messages if message.role == "tool"]
    assert json.dumps(told) == json.dumps([to_sent(result) for result in results])
    for event in events:
        if isinstance(event, ToolCallEnded):
            read = event.result.text
            assert not [data for result in results for data in encoded(result) if data in read]


PICTURE = {"type": "image", "data": "iVBORw0KGgo" * 1_000, "mime_type": "image/png"}


def test_texts_among_parts_are_cut_and_the_other_parts_are_whole(play, run):
    def draw() -> list[object]:
        """Draw."""
        return ["a" * 3_000, PICTURE, {"type": "text", "text": "b" * 3_000}, PICTURE]

    model = Script(ask(use("draw")), "done")
    play(run, model, [draw], result_characters=2_000)
    first, picture, second, other = model.requests[1].messages[-1].content
    assert (picture, other) == (PICTURE, PICTURE)
    assert len(first["text"]) + len(second["text"]) < 2_300


@pytest.mark.parametrize("maximum_iterations", [1, 3])
def test_what_is_shown_of_parts_is_no_data(play, maximum_iterations):
    def draw() -> list[object]:
        """Draw."""
        return ["A picture:", PICTURE, {"type": "file", "file_data": b"%PDF" * 500}] + [
            PICTURE
        ] * 200

    run = AgentRun([], maximum_iterations=maximum_iterations)
    late = Failure(message="It took too long.", reason="time_limit")
    events = play(run, Script(ask(use("draw")), [late]), [draw])
    shown = "".join(event.text for event in events if isinstance(event, ShowText))
    assert "iVBOR" not in shown
    assert base64.b64encode(b"%PDF").decode()[:5] not in shown
    assert "A picture:" in shown
    assert "[image]" in shown
    assert len(shown) < 1_500

from typing import Any

import pytest

from gpt5_payloads import build_request
from gpt5_responses import CacheReport, CacheWatch


ITEMS = [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}]
MORE = [*ITEMS, {"role": "user", "content": "C"}]
TOOL = {"name": "look", "parameters": {"type": "object", "properties": {}}}


def body(items: list[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    parameters = changed.pop("parameters", {})
    told = {"model": "gpt-5.2", "tools": [], **changed}
    return build_request(input=items, parameters=parameters, **told)


def watch(now: dict[str, Any], cached: int = 0, **settings: Any) -> CacheReport:
    cache = CacheWatch()
    cache.report("mine", body(ITEMS), input_tokens=2_000, cached_tokens=0)
    return cache.report("mine", now, input_tokens=2_100, cached_tokens=cached, **settings)


@pytest.mark.parametrize(
    ("now", "reason", "item"),
    [
        (body(MORE), "not_kept", None),
        (body(MORE, model="gpt-5.1"), "model_changed", None),
        (body(MORE, tools=[TOOL]), "tools_changed", None),
        (body(MORE, instructions="Be brief."), "instructions_changed", None),
        (body(MORE, prompt_cache_key="k"), "prompt_cache_key_changed", None),
        (body(MORE, parameters={"verbosity": "low"}), "verbosity_changed", None),
        (body(MORE, parameters={"reasoning_effort": "low"}), "reasoning_effort_changed", None),
        (body(MORE[1:]), "input_changed", 0),
        (body([MORE[0], *MORE[2:]]), "input_changed", 1),
        (body([{"type": "compaction", "encrypted_content": "x"}]), "context_compacted", 0),
    ],
)
def test_the_change_that_broke_the_cache_is_found(
    now: dict[str, Any], reason: str, item: int | None
) -> None:
    report = watch(now)

    assert (report.reason, report.changed_item, report.is_told) == (reason, item, False)
    assert report.expected_tokens == 1_920
    assert "0 of 2,100 input tokens" in str(report)
    assert "1,920 were expected" in str(report)
    assert report.to_figures()["reason"] == reason


def test_what_came_from_the_cache_as_expected_needs_no_reason() -> None:
    report = watch(body(MORE), cached=1_920)

    assert str(report) == "1,920 of 2,100 input tokens were read from the prompt cache."
    assert report.to_figures() == {"input_tokens": 2_100, "cached_tokens": 1_920}


def test_the_server_knows_best() -> None:
    missed = {"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 9}
    odd = {"type": "cache_miss", "reason": "sk-secret"}

    assert watch(body(MORE, model="gpt-5.1"), diagnostics=missed).reason == "tools_changed"
    assert "OpenAI says: other tools" in str(watch(body(MORE), diagnostics=missed))
    assert "sk-secret" not in str(watch(body(MORE), diagnostics=odd))
    assert watch(body(MORE), diagnostics=odd).to_figures()["reason"] == "other"
    assert watch(body(MORE), diagnostics={"type": "cache_hit"}).reason is None


def test_conversations_do_not_meet_and_old_ones_are_forgotten() -> None:
    seconds = [0.0]
    cache = CacheWatch(max_conversations=2, max_age_seconds=60, clock=lambda: seconds[0])

    def ask(conversation: str, model: str = "gpt-5.2") -> str | None:
        now = {**body(ITEMS), "model": model}
        return cache.report(conversation, now, input_tokens=2_000, cached_tokens=0).reason

    assert [ask("a"), ask("b", "x"), ask("a", "y")] == [None, None, "model_changed"]
    seconds[0] = 61
    assert ask("a") is None
    assert [ask("c"), ask("d"), ask("b")] == [None, None, None]
    assert len(cache) == 2


def test_a_short_or_bare_request_has_nothing_to_expect() -> None:
    cache = CacheWatch()
    for text in ("A", "B"):
        report = cache.report("a", {"input": text}, input_tokens=900, cached_tokens=0)
        assert report.reason is None
    assert str(report) == "0 of 900 input tokens were read from the prompt cache."
    missed = {"type": "cache_miss", "reason": "input_changed"}
    report = cache.report("b", {}, input_tokens=9, cached_tokens=0, diagnostics=missed)
    assert "expected" not in str(report)


def test_a_threshold_becomes_context_management() -> None:
    rule = [{"type": "compaction", "compact_threshold": 2_000}]
    assert body(ITEMS, parameters={"compact_threshold": "2000"})["context_management"] == rule
    assert "context_management" not in body(ITEMS)

"""Models that end, and models without a price: what the log says of them, and what a user reads once they are gone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpt5_simulator import HttpError, ResponsesSimulator
from model_plugin import ModelPlugin, credentials_for


LINE = r"The model 'gpt-5-mini' (ends|was to end) on 2026-12-11\. Use 'gpt-6\.1-terra' instead\.$"


@pytest.fixture
def fresh_plugin(configured_plugin: ModelPlugin) -> ModelPlugin:
    """Return a plugin that has told nothing of these models yet: no other test calls it with them."""
    return configured_plugin


@contextmanager
def told_by(plugin: ModelPlugin) -> Iterator[list[str]]:
    """Give out a list that holds, in the end, what the log said of models that end."""
    lines: list[str] = []
    plugin.notices.clear()
    yield lines
    texts = [line for notice in plugin.notices for line in notice.text.splitlines()]
    lines += [text for text in texts if "he model '" in text]


def test_a_model_that_ends_is_told_once(
    fresh_plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    with told_by(fresh_plugin) as lines:
        for key in ("one", "two"):
            for _ in range(2):
                assert fresh_plugin.invoke(server, model="gpt-5-mini", key=key).error is None
        fresh_plugin.invoke(server, model="gpt-5.2")
        fresh_plugin.invoke(server, model="gpt-6-luna")

    (line,) = lines
    assert re.search(LINE, line)


def test_a_dated_snapshot_is_told_under_its_own_name(
    fresh_plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    with told_by(fresh_plugin) as lines:
        fresh_plugin.invoke(server, model="gpt-5.1-2025-11-13")

    (line,) = lines
    assert "'gpt-5.1-2025-11-13'" in line
    assert "on 2027-04-01. Use 'gpt-6.1-sol' instead." in line


def test_a_day_that_the_server_tells_counts(fresh_plugin: ModelPlugin) -> None:
    days = {"gpt-5.5-2026-04-23": "2999-01-02", "gpt-5.4": "2999-01-01"}
    with ResponsesSimulator(models=list(days), shutdown_dates=days) as server:
        assert fresh_plugin.validate(server).error is None
        with told_by(fresh_plugin) as lines:
            fresh_plugin.invoke(server, model="gpt-5.5-2026-04-23")
            fresh_plugin.invoke(server, model="gpt-5.4")

    assert [line.partition("The ")[2] for line in lines] == [
        "model 'gpt-5.5-2026-04-23' ends on 2999-01-02.",
        "model 'gpt-5.4' ends on 2999-01-01.",
    ]


def test_an_added_model_without_a_known_base_is_told_to_have_no_price(
    fresh_plugin: ModelPlugin,
) -> None:
    with told_by(fresh_plugin) as lines, ResponsesSimulator(models=["prod-chat"]) as server:
        known = {**credentials_for(server, "key"), "base_model": "gpt-6-luna"}
        assert fresh_plugin.invoke(server, model="prod-chat", credentials=known).error is None
        assert not [notice for notice in fresh_plugin.notices if "model 'prod-chat'" in notice.text]
        for _ in range(2):
            answer = fresh_plugin.invoke(server, model="prod-chat")

    (line,) = lines
    assert "'prod-chat' is not known: it counts as 0, so that max_cost of an agent" in line
    assert float(answer.last["usage"]["total_price"]) == 0


def test_a_name_of_many_lines_leaves_one_line_without_secrets(
    fresh_plugin: ModelPlugin, server: ResponsesSimulator
) -> None:
    with told_by(fresh_plugin) as lines:
        fresh_plugin.invoke(
            server, model="ft:gpt-5-mini:very-secret-key\n" + "x" * 500, key="very-secret-key"
        )

    (line,) = lines
    assert "very-secret-key" not in line
    assert len(line) < 300


@pytest.mark.parametrize(
    ("model", "successor"),
    [
        ("gpt-5-codex", "gpt-5.5"),
        ("gpt-5.1-codex-mini", "gpt-5.4-mini"),
        ("gpt-5.3-chat-latest", "gpt-5.5"),
        ("gpt-5.2-2025-12-11", None),
        ("gpt-5-2025-08-07", "gpt-6.1-sol"),
        ("gpt-5-nano", "gpt-6-luna"),
    ],
)
@pytest.mark.parametrize("code", ["model_not_found", None])
def test_a_model_that_is_gone_names_its_successor_streamed_or_not(
    plugin: ModelPlugin, model: str, successor: str | None, code: str | None
) -> None:
    fault = HttpError(
        status=404, code=code, message=f"The model `{model}` has been deprecated", times=None
    )
    with ResponsesSimulator(faults=[fault]) as server:
        errors = [
            plugin.invoke(server, model=model, stream=stream).error for stream in (True, False)
        ]
        errors.append(plugin.validate(server, model=model).error)

    for error in errors:
        assert f"'{model}'" in str(error)
        assert successor is None or f"Use '{successor}' instead." in str(error)


@pytest.mark.parametrize("models_status", [200, 404])
def test_credentials_pass_although_every_model_has_ended(
    plugin: ModelPlugin, models_status: int
) -> None:
    days = {"gpt-6-luna": "2020-01-01", "gpt-5.2": "2020-01-01"}
    with ResponsesSimulator(
        models=list(days), shutdown_dates=days, models_status=models_status
    ) as server:
        assert plugin.validate(server).error is None

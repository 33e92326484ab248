import dataclasses

import pytest

from gpt5_payloads import profile_for


DOCUMENTED_MODELS = [
    "gpt-5.2",
    "gpt-5.2-pro",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-5-codex",
    "gpt-5.1-codex",
    "gpt-5.3-codex",
]


@pytest.mark.parametrize(
    ("model", "efforts"),
    [
        ("gpt-5", "minimal low medium high"),
        ("gpt-5-mini", "minimal low medium high"),
        ("gpt-5-nano", "minimal low medium high"),
        ("gpt-5-pro", "high"),
        ("gpt-5-codex", "low medium high"),
        ("gpt-5.1", "none low medium high"),
        ("gpt-5.1-chat-latest", "medium"),
        ("gpt-5.1-codex", "low medium high"),
        ("gpt-5.1-codex-max", "low medium high xhigh"),
        ("gpt-5.2", "none low medium high xhigh"),
        ("gpt-5.2-pro", "medium high xhigh"),
        ("gpt-5.3-codex", "low medium high xhigh"),
        ("gpt-5.4-nano", "none low medium high xhigh"),
        ("gpt-5.4-pro", "medium high xhigh"),
        ("gpt-5.5-pro", "medium high xhigh"),
        ("gpt-5.6-luna", "none low medium high xhigh max"),
        ("gpt-6-astra", "low medium high xhigh max"),
        ("gpt-6-sol", "none low medium high xhigh max"),
        ("gpt-6-luna", "none low medium high xhigh max"),
        ("gpt-6.1-sol", "low medium high xhigh max"),
        ("gpt-6.1-terra", "none low medium high xhigh max"),
        ("gpt-6.2-astra", "low medium high xhigh max"),
        ("gpt-6.2-sol", "low medium high xhigh max"),
        ("gpt-5-chat-latest", ""),
        ("gpt-4o", ""),
        ("o3-mini", "low medium high"),
    ],
)
def test_each_family_accepts_its_own_efforts(model, efforts):
    profile = profile_for(model)

    assert profile.efforts == tuple(efforts.split())
    assert profile.reasoning is bool(efforts)


@pytest.mark.parametrize(
    ("model", "verbosities"),
    [
        ("gpt-5", ("low", "medium", "high")),
        ("gpt-5.2-pro", ("low", "medium", "high")),
        ("gpt-5-codex", ()),
        ("gpt-5.1-codex", ()),
        ("gpt-5.1-codex-max", ("medium",)),
        ("gpt-5.3-codex", ("medium",)),
        ("gpt-5-chat-latest", ()),
        ("o3", ()),
    ],
)
def test_verbosity_is_not_for_every_model(model, verbosities):
    assert profile_for(model).verbosities == verbosities


def test_minimal_effort_goes_with_no_search_of_the_web_and_no_drawing():
    profile = profile_for("gpt-5")
    assert profile.efforts_with(["file_search", "temperature"]) == profile.efforts
    assert "minimal" in profile.efforts
    for tool in ("web_search", "image_generation"):
        assert profile.efforts_with([tool]) == tuple(e for e in profile.efforts if e != "minimal")


def test_concise_summaries_came_after_gpt_5():
    assert profile_for("gpt-5").summaries == ("auto", "detailed")
    assert profile_for("gpt-5.1").summaries == ("auto", "concise", "detailed")


@pytest.mark.parametrize("model", DOCUMENTED_MODELS)
def test_the_documented_models_have_the_documented_size(model):
    profile = profile_for(model)

    assert (profile.family, profile.context_size, profile.max_output_tokens) == (
        model,
        400_000,
        128_000,
    )


def test_only_gpt_5_5_pro_is_known_not_to_stream():
    assert profile_for("gpt-5.5-pro").streaming is False
    assert all(
        profile_for(model).streaming for model in [*DOCUMENTED_MODELS, "gpt-5.4-pro", "unheard-of"]
    )


@pytest.mark.parametrize("model", ["gpt-5-codex", "gpt-5.1-codex"])
def test_a_retired_model_names_its_replacement(model):
    profile = profile_for(model)

    assert (profile.retired, profile.shutdown_date) == (True, "2026-07-23")
    assert profile.replacement == "gpt-5.5"


@pytest.mark.parametrize(
    ("model", "day", "replacement"),
    [
        ("gpt-5", "2026-12-11", "gpt-6.1-sol"),
        ("gpt-5-mini-2025-08-07", "2026-12-11", "gpt-6.1-terra"),
        ("gpt-5-nano", "2026-12-11", "gpt-6-luna"),
        ("gpt-5.1", "2027-04-01", "gpt-6.1-sol"),
        ("gpt-5.3-codex", "2027-04-01", "gpt-6.1-sol"),
        ("gpt-5.4-nano", "2027-04-01", "gpt-6-luna"),
    ],
)
def test_a_model_that_ends_has_its_day_and_its_replacement(model, day, replacement):
    profile = profile_for(model)

    assert (profile.retired, profile.shutdown_date, profile.replacement) == (
        False,
        day,
        replacement,
    )


@pytest.mark.parametrize("model", [*DOCUMENTED_MODELS, "gpt-5.2-chat", "gpt-5.1-codex-mini"])
def test_a_replacement_is_a_model_that_stays(model):
    profile = profile_for(model)
    following = profile_for(profile.replacement or model)

    assert (profile.replacement is None) == (profile.shutdown_date is None)
    assert (following.shutdown_date, following.replacement) == (None, None)


@pytest.mark.parametrize(
    "name", ["gpt-6", "gpt-6.3-terra", "gpt-6.1-luna-2027-01-31", "openai/gpt-6-mini"]
)
def test_an_unknown_name_of_the_gpt_6_line_takes_what_that_line_takes(name):
    profile = profile_for(name)

    assert profile.family == "gpt-6"
    assert profile.efforts == ("none", "low", "medium", "high", "xhigh", "max")
    assert profile.context_size == 1_050_000


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5.2-pro-2025-12-11", "gpt-5.2-pro"),
        ("openai/gpt-5.2", "gpt-5.2"),
        ("openrouter/openai/gpt-5-mini:nitro", "gpt-5-mini"),
        ("openai.gpt-5.5", "gpt-5.5"),
        ("ft:gpt-5-mini:my-org::abc123", "gpt-5-mini"),
        ("ft:gpt-5-nano-2025-08-07:my-org:suffix:abc123", "gpt-5-nano"),
        (" GPT-5.6-Sol ", "gpt-5.6-sol"),
        ("gpt-5.2-chat-latest", "gpt-5.2-chat"),
        ("gpt-5.2-chat", "gpt-5.2-chat"),
        ("gpt-4.1-mini-2025-04-14", "gpt-4.1"),
        ("gpt-4-turbo", "gpt-4-turbo"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-oss:20b", "gpt-oss"),
        ("o4-mini", "o4"),
    ],
)
def test_a_name_resolves_to_its_family(name, family):
    assert profile_for(name).family == family


@pytest.mark.parametrize(
    "name", ["gpt-7", "gpt-5.9-mini", "my-deployment", "gpt-50", "gpt-60", "o1x", "", "/"]
)
def test_an_unknown_name_gets_the_default_that_accepts_everything(name):
    profile = profile_for(name)

    assert profile.family == "default"
    assert profile.efforts == ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    assert profile.summaries == ("auto", "concise", "detailed")
    assert profile.verbosities == ("low", "medium", "high")
    assert profile.system_role == "system"


@pytest.mark.parametrize("name", ["gpt-5-codex", "gpt-5.3-codex", "gpt-9-codex", "azure/my-codex"])
def test_codex_models_are_told_by_the_developer(name):
    assert profile_for(name).system_role == "developer"


def test_a_profile_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        profile_for("gpt-5").family = "gpt-6"

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


pytest_plugins = ["pytester"]

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_example_of_the_readme_passes(pytester):
    [example] = re.findall(r"```py\n(.*?)```", README, re.DOTALL)
    pytester.makepyfile(example)
    pytester.runpytest("--strict-markers").assert_outcomes(passed=example.count("def test_"))


def test_each_test_has_a_simulator_of_its_own_with_the_settings_of_its_marker(pytester):
    pytester.makepyfile(
        """
        import pytest
        from gpt5_simulator import Text
        from openai import OpenAI, RateLimitError

        def ask(simulator, model="gpt-5"):
            with OpenAI(**{"max_retries": 0} | dict(base_url=simulator.base_url, api_key="k")) as client:
                return client.responses.create(model=model, input="Hello").output_text

        def test_replies(responses_simulator):
            responses_simulator.add_reply(Text(text="Hi"))
            assert ask(responses_simulator) == "Hi"
            responses_simulator.assert_used()

        def test_another(responses_simulator):
            assert responses_simulator.requests == []

        @pytest.mark.responses_simulator(models=["own"], faults=["rate_limit", None])
        def test_settings(responses_simulator):
            with pytest.raises(RateLimitError):
                ask(responses_simulator, "own")
            assert ask(responses_simulator, "own")
            assert responses_simulator.requests[1].body["model"] == "own"

        def test_left_over(responses_simulator):
            responses_simulator.add_fault("cut")
            responses_simulator.assert_used()
        """
    )
    result = pytester.runpytest("--strict-markers")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["E*no request came", "E*faults not used: CutStream()"])


def test_the_environment_is_set_only_where_a_test_asks_for_it(pytester, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    pytester.makepyfile(
        """
        import os
        from openai import OpenAI

        def test_asked_for(responses_simulator, openai_environment):
            with OpenAI() as client:
                assert client.responses.create(model="gpt-5", input="Hello").output_text
            responses_simulator.assert_used()

        def test_not_asked_for(responses_simulator):
            assert "OPENAI_BASE_URL" not in os.environ
        """
    )
    pytester.runpytest().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("imported", "unwanted"),
    [("_gpt5_simulator_pytest", "gpt5_simulator"), ("gpt5_simulator", "pytest")],
)
def test_neither_pytest_nor_the_simulator_is_imported_for_nothing(imported, unwanted):
    program = f"import {imported}, sys; sys.exit({unwanted!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ)

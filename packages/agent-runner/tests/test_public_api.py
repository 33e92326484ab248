import importlib.metadata
import inspect

import agent_runner


def test_the_export_list_is_sorted_and_complete():
    public = {
        name
        for name, value in vars(agent_runner).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert agent_runner.__all__ == sorted(public)


def test_the_installed_version_is_known():
    assert importlib.metadata.version("gpt5-agent-runner").count(".") == 2


def test_every_error_descends_from_the_root():
    errors = [
        value
        for name in agent_runner.__all__
        if isinstance(value := getattr(agent_runner, name), type) and issubclass(value, Exception)
    ]
    assert len(errors) == 3
    assert all(issubclass(error, agent_runner.RunnerError) for error in errors)

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
    assert importlib.metadata.version("agent-runner").count(".") == 2

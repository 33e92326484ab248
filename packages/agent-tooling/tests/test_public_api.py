import inspect
from importlib.metadata import version

import agent_tooling


def test_the_export_list_is_sorted_and_complete():
    public = {
        name
        for name, value in vars(agent_tooling).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert set(agent_tooling.__all__) == public
    assert agent_tooling.__all__ == sorted(agent_tooling.__all__, key=_constants_first)


def _constants_first(name):
    rank = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return rank, name


def test_every_public_name_is_documented():
    undocumented = [
        name
        for name in agent_tooling.__all__
        if callable(getattr(agent_tooling, name)) and not getattr(agent_tooling, name).__doc__
    ]

    assert undocumented == []


def test_every_error_descends_from_the_root():
    errors = [
        value
        for value in vars(agent_tooling).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]

    assert all(issubclass(error, agent_tooling.ToolingError) for error in errors)


def test_the_package_knows_its_version():
    assert version("gpt5-agent-tooling").count(".") == 2

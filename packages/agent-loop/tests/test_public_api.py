import inspect
from importlib.metadata import version

import agent_loop
from agent_loop import AgentLoopError, MessageError


def test_the_export_list_is_sorted_and_complete():
    public = {
        name
        for name, value in vars(agent_loop).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert set(agent_loop.__all__) == public
    # Sorted as the linter sorts: constants, then classes, then functions.
    kinds = {name: (not name.isupper(), name[0].islower(), name) for name in agent_loop.__all__}
    assert agent_loop.__all__ == sorted(agent_loop.__all__, key=kinds.__getitem__)


def test_every_error_descends_from_the_root():
    errors = [
        value
        for value in vars(agent_loop).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert errors
    assert all(issubclass(error, AgentLoopError | MessageError) for error in errors)


def test_the_package_has_a_version():
    assert version("gpt5-agent-loop")

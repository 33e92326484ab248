import importlib
import inspect
import pkgutil

import dify_agent
from dify_agent.exceptions import (
    AgentRunValidationError,
    CompositionError,
    DifyAgentError,
    LayerLifecycleError,
    SnapshotError,
    UnknownLayerTypeError,
)


def test_every_error_of_the_package_descends_from_its_root():
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(dify_agent.__path__, "dify_agent.")
        if not module.name.endswith("__main__")
    ]
    errors = {
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Exception)
        and value.__module__.startswith("dify_agent.")
    }
    assert {AgentRunValidationError, CompositionError} < errors
    assert all(issubclass(error, DifyAgentError) for error in errors)


def test_errors_are_also_the_builtin_kind_that_a_caller_would_expect():
    assert issubclass(AgentRunValidationError, ValueError)
    assert issubclass(CompositionError, ValueError)
    assert issubclass(SnapshotError, CompositionError)
    assert issubclass(UnknownLayerTypeError, KeyError)
    assert issubclass(LayerLifecycleError, RuntimeError)


def test_an_unknown_layer_type_says_which():
    error = UnknownLayerTypeError("x")
    assert str(error) == "Layer type id 'x' is not registered."
    assert error.type_id == "x"

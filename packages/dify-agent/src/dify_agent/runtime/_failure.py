"""What a client is told when a run fails."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic_ai.exceptions import ModelHTTPError
from typing_extensions import TypeIs

from dify_agent.compositor import LayerConfig, LayerConfigInput
from dify_agent.layers.dify_plugin.configs import DifyPluginToolParameterType
from dify_agent.protocol import RunComposition, RunFailedEvent
from stream_text import KnownSecrets


def build_run_failed(run_id: str, error: Exception, *, secrets: KnownSecrets) -> RunFailedEvent:
    """Return the event that says why a run failed.

    Args:
        run_id: The run.
        error: What ended it.
        secrets: Texts that must not be shown.
    """
    body = error.body if isinstance(error, ModelHTTPError) else None
    known: Mapping[str, object] = body if _is_object(body) else {}
    message = known.get("message") or str(error) or type(error).__name__
    return RunFailedEvent(
        run_id=run_id,
        error=secrets.redact(str(message)),
        error_type=str(known.get("error_type") or type(error).__name__),
    )


def composition_secrets(composition: RunComposition) -> KnownSecrets:
    """Return the texts of a composition that must not be shown.

    These are all credentials, and the values of parameters that are declared as secrets.
    """
    return KnownSecrets(
        secret for layer in composition.layers for secret in _secrets(_as_mapping(layer.config))
    )


def _as_mapping(config: LayerConfigInput) -> Mapping[str, Any]:
    if isinstance(config, LayerConfig):
        return config.model_dump(mode="json")
    return config or {}


def _secrets(config: Mapping[str, Any]) -> Iterator[object]:
    """Yield the secrets of a configuration that may not have been checked yet."""
    yield from _values(config.get("credentials"))
    parameters = config.get("runtime_parameters")
    for declaration in _mappings(config.get("parameters")):
        if declaration.get("type") == DifyPluginToolParameterType.SECRET_INPUT:
            yield from _values(parameters, name=declaration.get("name"))
            yield declaration.get("default")
    for tool in _mappings(config.get("tools")):
        yield from _secrets(tool)


def _values(value: object, *, name: object = None) -> list[object]:
    """Return a mapping's values, or only the one under `name`."""
    if not _is_object(value):
        return []
    return list(value.values()) if name is None else [value.get(str(name))]


def _mappings(value: object) -> list[Mapping[str, Any]]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [item for item in items if _is_object(item)]


def _is_object(value: object) -> TypeIs[Mapping[str, Any]]:
    return isinstance(value, Mapping)

"""A model of another plugin whose answers are recorded once, and given from then on."""

import dataclasses
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, override

from dify_plugin_host._errors import ScriptError
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._process.session import BackwardsRequest, CallBack
from dify_plugin_packager.json_access import JsonObject

from ._scripted_model import ScriptedModel


class Recording:
    """The recorded models of one test, each in a file of its own.

    Args:
        path: The files' common path, to which the model's name and an ending are added.
        is_new: Whether the models are asked and recorded; if not, their answers come from the files.
        redact: Takes secrets out of what is written.
    """

    def __init__(self, path: Path, *, is_new: bool, redact: Callable[[str], str]) -> None:
        self._path = path
        self._is_new = is_new
        self._redact = redact

    def model(
        self,
        name: str,
        *,
        provider: str | None = None,
        completion_params: Mapping[str, Any] | None = None,
        history: Sequence[JsonObject] = (),
    ) -> ScriptedModel:
        """Return a model as the value of a parameter.

        Args:
            name: Its name.
            provider: Its provider's name, short or long; None if there is only one.
            completion_params: The parameters that somebody has set for it.
            history: The prompt messages of earlier turns.

        Raises:
            ScriptError: If it was not recorded yet.
        """
        path = self._path.with_name(f"{self._path.name}-{name.replace('/', '_')}.json")
        set_for_it = {
            "completion_params": dict(completion_params or {}),
            "history_prompt_messages": list(history),
        }
        if self._is_new:
            return _NewModel(path, name, provider, set_for_it, redact=self._redact)
        if not path.exists():
            expected = "expected it from `pytest --dify-record --dify-with MODEL_PLUGIN`"
            raise ScriptError(f"there is no recording {path}; {expected}")
        recorded = json.loads(path.read_text(encoding="utf-8"))
        return _OldModel(recorded, name, set_for_it)


class _OldModel(ScriptedModel):
    """A model that was recorded."""

    def __init__(self, recorded: JsonObject, name: str, set_for_it: JsonObject) -> None:
        super().__init__([CallBack(**each) for each in recorded["answers"]], name=name)
        self._value = {**recorded["value"], **set_for_it}

    @override
    async def choose(self, host: PluginHost) -> JsonObject:
        return self._value


class _NewModel(ScriptedModel):
    """A model that is being recorded."""

    def __init__(
        self,
        path: Path,
        name: str,
        provider: str | None,
        set_for_it: JsonObject,
        *,
        redact: Callable[[str], str],
    ) -> None:
        super().__init__((), name=name)
        self._path = path
        self._provider = provider
        self._set_for_it = set_for_it
        self._redact = redact
        self._value: JsonObject = {}
        self._answers: list[JsonObject] = []

    @override
    async def choose(self, host: PluginHost) -> JsonObject:
        self._value = await host.model_value(self.name, provider=self._provider)
        return {**self._value, **self._set_for_it}

    @override
    def find(self, request: BackwardsRequest) -> AsyncGenerator[JsonObject] | None:
        return None

    @override
    def finish(self, calls_back: Sequence[CallBack]) -> None:
        own = [
            one for one in calls_back if one.type == "llm" and one.request.get("model") == self.name
        ]
        if not own:
            return  # such as a call that failed early, which must not empty a recording
        self.requests += [one.request for one in own]
        self._answers += map(dataclasses.asdict, own)
        recorded = {"value": self._value, "answers": self._answers}
        text = json.dumps(recorded, ensure_ascii=False, indent=1) + "\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(self._redact(text), encoding="utf-8")

"""Dify's answers to plugins' calls back: models, tools, storage and uploads.

Source: `internal/core/io_tunnel/backwards_invocation/task.go` of langgenius/dify-plugin-daemon at bdb5642a, and
`api/core/plugin/backwards_invocation` of langgenius/dify, read 2026-10.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dify_plugin_host._errors import (
    BackwardsError,
    PluginHostError,
    PluginInvokeError,
    StreamRejectedError,
    UnknownNameError,
)
from dify_plugin_host._files.links import FileLinks
from dify_plugin_host._process.session import BackwardsRequest, FindAnswer
from dify_plugin_host._settings import HostSettings
from dify_plugin_host._tools.tool import PROVIDER, PythonTool
from dify_plugin_packager.declarations import CALLS, PluginFolder, ShapeError, read_call
from dify_plugin_packager.json_access import JsonObject, list_at, object_at

from .models import LLMRequest, Models
from .plugin_tools import PluginTools
from .rules import validate_permission
from .storage import Storage
from .tool_files import link_blobs
from .tool_node import ToolRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Backwards:
    """The answers to the backwards calls of plugins.

    Attributes:
        models: Answers `llm` calls.
        tools: Answer `tool` calls, by the tool's name.
        plugin_tools: Answer those that are for the tools of plugins.
        links: The links by which files are handed over.
        settings: The rules to apply.
        on_model_error: Gets the error of a failed model call, of which the plugin gets only the text.
        answers: Comes before all of them, unless the plugin's own call has brought answers.
    """

    models: Models
    tools: Mapping[str, PythonTool]
    plugin_tools: PluginTools
    links: FileLinks
    settings: HostSettings
    on_model_error: Callable[[PluginHostError], None]
    answers: FindAnswer | None = None
    _storages: dict[str, Storage] = field(default_factory=dict[str, Storage])

    async def answer(
        self, folder: PluginFolder, request: BackwardsRequest
    ) -> AsyncGenerator[JsonObject]:
        """Answer one call of the plugin in `folder`.

        Raises:
            BackwardsError: If it is refused or fails; the plugin gets the text.
        """
        self._validate(folder, request)
        payload = self._read(request)
        find = request.answers or self.answers
        given = find(replace(request, request=payload)) if find else None
        match request.type:
            case "tool":
                answers = self._answer_tool(payload, request, given)
            case _ if given:
                answers = given
            case "llm":
                answers = self._answer_llm(payload, request)
            case "upload_file":
                name, mime_type = str(payload.get("filename")), str(payload.get("mimetype"))
                yield {"url": await self.links.upload_url(name, mime_type)}
                return
            case "storage":
                yield self.storage(folder, request.tenant_id).answer(payload)
                return
            case other:
                call = CALLS[other]
                raise BackwardsError(
                    f"{call.failure}: request failed: not served here: {call.path}"
                )
        async with contextlib.aclosing(answers) as items:
            async for item in items:
                yield item

    def _validate(self, folder: PluginFolder, request: BackwardsRequest) -> None:
        if self.settings.rules.model_callbacks and request.caller == "model":
            raise BackwardsError("you can not invoke dify from model")
        if self.settings.rules.permissions:
            validate_permission(request.type, folder)

    def _read(self, request: BackwardsRequest) -> JsonObject:
        """Return a request in the form that the daemon sends to Dify."""
        if request.type not in CALLS:
            raise BackwardsError(f"unsupported invoke type: {request.type}")
        if not self.settings.rules.call_rules:
            return request.request
        own = {"tenant_id": request.tenant_id, "user_id": request.user_id, "type": request.type}
        call = CALLS[request.type]
        try:
            value = read_call(call.shape, {**request.request, **own})
        except ShapeError as error:
            problem = f"unmarshal backwards invoke request failed: {error}"
            raise BackwardsError(problem) from None
        try:
            return call.shape.encode(value)
        except ShapeError as error:
            raise BackwardsError(f"{call.failure}: {error}") from None

    async def _answer_llm(
        self, payload: JsonObject, request: BackwardsRequest
    ) -> AsyncGenerator[JsonObject]:
        provider = str(payload.get("provider"))
        call = LLMRequest(
            model=str(payload.get("model")),
            provider=provider,
            messages=list_at(payload, "prompt_messages"),
            parameters=object_at(payload, "completion_params"),
            tools=list_at(payload, "tools"),
            stop=list_at(payload, "stop"),
            stream=self.settings.rules.always_stream or bool(payload.get("stream", True)),
            credentials=_credentials_of(provider, request.credentials),
            user_id=request.user_id,
        )
        try:
            async with contextlib.aclosing(self.models.invoke(call)) as chunks:
                async for chunk in chunks:
                    yield chunk
        # Already the text for the plugin.
        except BackwardsError:
            raise
        except (PluginInvokeError, StreamRejectedError) as error:
            self.on_model_error(error)
            raise BackwardsError(f"read llm model failed: {error.message}") from error
        except PluginHostError as error:
            self.on_model_error(error)
            raise BackwardsError(f"invoke llm model failed: {error}") from error

    async def _answer_tool(
        self,
        payload: JsonObject,
        request: BackwardsRequest,
        given: AsyncGenerator[JsonObject] | None,
    ) -> AsyncGenerator[JsonObject]:
        name, provider = str(payload.get("tool")), str(payload.get("provider"))
        try:
            answers = given or self._call_tool(
                provider, name, payload.get("tool_parameters"), request
            )
            if self.settings.rules.tool_files:
                answers = link_blobs(answers, self.links, self.settings)
            async with contextlib.aclosing(answers) as messages:
                async for message in messages:
                    yield message
        except UnknownNameError:
            problem = f"there is not a tool named {name} of provider {provider}"
            raise BackwardsError(problem) from None
        except BackwardsError:
            raise
        except PluginInvokeError as error:
            raise BackwardsError(f"tool invoke error: {error.message}") from error
        except PluginHostError as error:
            raise BackwardsError(f"invoke tool failed: {error}") from error

    def _call_tool(
        self, provider: str, name: str, parameters: Any, request: BackwardsRequest
    ) -> AsyncGenerator[JsonObject]:
        if provider == PROVIDER and name in self.tools:
            return self._call_python(self.tools[name], parameters or {})
        called = ToolRequest(
            tool=name,
            provider=provider,
            credentials=_credentials_of(provider, request.credentials),
            user_id=request.user_id,
        )
        return self.plugin_tools.call_back(called, parameters)

    async def _call_python(
        self, tool: PythonTool, arguments: JsonObject
    ) -> AsyncGenerator[JsonObject]:
        for message in await tool.invoke(arguments, find_file=self.links.find):
            yield message

    def storage(self, folder: PluginFolder, tenant_id: str) -> Storage:
        """Return the storage of a plugin for a tenant."""
        key = f"{tenant_id}/{folder.author}/{folder.name}"
        size = object_at(folder.permission, "storage").get("size")
        return self._storages.setdefault(key, Storage(key, size))


def _credentials_of(provider: str, given: Mapping[str, JsonObject]) -> JsonObject | None:
    """Return the credentials for a provider; a short name on either side matches a long one on the other."""
    if provider in given:
        return given[provider]
    short = provider.rpartition("/")[2]
    for name, credentials in given.items():
        if name == short or ("/" not in provider and name.endswith(f"/{provider}")):
            return credentials
    return None

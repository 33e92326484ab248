"""A plugin that runs, to be called from tests."""

import os
from collections.abc import AsyncGenerator, Coroutine, Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Self

from dify_plugin_host._errors import CredentialsMissingError, UnknownNameError
from dify_plugin_host._platform.agent_node import StrategyRequest
from dify_plugin_host._platform.plugin_host import PluginHost
from dify_plugin_host._platform.tool_node import ToolRequest
from dify_plugin_host._plugin.declarations import (
    Declarations,
    ModelProvider,
    ToolProvider,
    without_credentials,
)
from dify_plugin_host._plugin.offers import offers
from dify_plugin_host._process.connection import Notice
from dify_plugin_host._process.session import CallOrigin
from dify_plugin_host._settings import HostSettings
from dify_plugin_host.installation import PackageSource
from dify_plugin_packager.declarations import PluginFolder
from dify_plugin_packager.json_access import JsonObject
from stream_text import REDACTED, KnownSecrets

from ._caller import Caller
from ._messages import Messages, ModelAnswer
from ._model import PluginModel
from ._part import PluginPart
from ._peers import Answers, Model


_SHORTEST_REST = 3  # Fewer characters of a secret tell nothing, and stand in any text.


class DifyPlugin:
    """A plugin that runs as a process, as Dify's daemon runs it, to be called from tests.

    Use it as a context manager; leaving it ends the process. One that ends by itself is started again for the next call. Its methods wait for
    the answer; they may be called from any thread.

    Args:
        path: The plugin's folder, which may have a `.venv` of its own, or a package, which is installed once.
        credentials: The credentials of its providers, by name, over those in the environment variables that `dify-host call` reads.
        beside: Folders or packages of plugins whose models may be called back.
        settings: The platform's limits and rules.

    Attributes:
        host: What runs the plugin.
        folder: The plugin's folder.

    Raises:
        PluginHostError: If one of them is not a plugin, or cannot be installed.
        UnknownNameError: If no provider of the plugin declares one of the credentials.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        credentials: Mapping[str, Any] | None = None,
        beside: Sequence[Path | str] = (),
        settings: HostSettings | None = None,
    ) -> None:
        self.folder, *others = (_read(Path(each)) for each in (path, *beside))
        providers = [
            one for folder in (self.folder, *others) for one in Declarations(folder).providers
        ]
        self._credentials: dict[str, Any] = {}
        for one in providers:
            self._credentials |= one.credentials_in(os.environ)
        self._credentials |= credentials or {}
        known = {str(field["name"]) for one in providers for field in one.credential_fields}
        for name in credentials or {}:
            if name not in known:
                raise UnknownNameError("credential", name, sorted(known))
        self._secrets = set(map(str, self._credentials.values()))
        self._notices: list[Notice] = []
        self.host = PluginHost(
            self.folder,
            *others,
            credentials=self._credentials,
            tools=(),
            settings=settings,
            environment=without_credentials(os.environ, providers),
            on_notice=self._notices.append,
            restarts=True,
        )
        self._caller = Caller(self.host)

    def __enter__(self) -> Self:
        self._caller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._caller.stop()

    def run[T](self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine, such as a call of `host`, on the loop on which the plugin runs, and return its result.

        Raises:
            RuntimeError: If the plugin does not run.
        """
        __tracebackhide__ = True
        return self._caller.run(coroutine)

    def tool(
        self,
        name: str,
        *,
        provider: str | None = None,
        credentials: Mapping[str, Any] | None = None,
        answers: Answers | Model | None = None,
    ) -> PluginPart:
        """Return a tool to be called.

        Args:
            name: The tool's name.
            provider: Its provider's name, short or long; None if only one has a tool of that name.
            credentials: Its credentials in place of the plugin's.
            answers: Answers its calls back, as far as no model or tool among its parameters does.

        Raises:
            CredentialsMissingError: If the plugin has been given none for a credential that the provider requires.
        """
        having = (one for one in self.host.tool_providers if name in one.tools)
        chosen = self._choose(credentials, having, provider)

        def invoke(parameters: Mapping[str, Any], origin: CallOrigin) -> AsyncGenerator[JsonObject]:
            request = ToolRequest(
                tool=name,
                parameters=parameters,
                provider=provider,
                credentials=chosen,
                origin=origin,
            )
            return self.host.invoke_tool(request)

        return PluginPart(self._caller, invoke, answers)

    def strategy(self, name: str, *, answers: Answers | Model | None = None) -> PluginPart:
        """Return an agent strategy to be called.

        Args:
            name: The strategy's name.
            answers: Answers its calls back, as far as no model or tool among its parameters does.
        """

        def invoke(parameters: Mapping[str, Any], origin: CallOrigin) -> AsyncGenerator[JsonObject]:
            request = StrategyRequest(strategy=name, parameters=parameters, origin=origin)
            return self.host.invoke_strategy(request)

        return PluginPart(self._caller, invoke, answers)

    def model(
        self,
        name: str,
        *,
        provider: str | None = None,
        credentials: Mapping[str, Any] | None = None,
        model_type: str | None = None,
    ) -> PluginModel:
        """Return a model to be called.

        Args:
            name: The model's name.
            provider: Its provider's name, short or long; None if there is only one.
            credentials: Its credentials in place of the plugin's.
            model_type: Its type, such as `"text-embedding"`; None for the type that the plugin declares, and `llm` if it declares none of that name.

        Raises:
            CredentialsMissingError: If the plugin has been given none for a credential that the provider requires.
        """
        types = [one.model_type for one in offers(self.folder) if name in one.names]
        return PluginModel(
            self._caller,
            name,
            model_type=model_type or next(filter(None, types), "llm"),
            provider=provider,
            credentials=self._choose(credentials, self.host.model_providers, provider),
        )

    def validate(
        self,
        credentials: Mapping[str, Any] | None = None,
        /,
        *,
        provider: str | None = None,
        model: str | None = None,
        model_type: str = "llm",
        **more: Any,
    ) -> None:
        """Make the plugin check credentials as Dify does when a user saves them; without any, those of the plugin.

        Args:
            credentials: The credentials, by name, which may also be given as arguments of their names.
            provider: The provider's name, short or long; None if there is only one.
            model: The model whose credentials they are; None for those of the provider.
            model_type: The model's type.
            more: Further credentials.

        Raises:
            PluginInvokeError: If the plugin refuses them, with its reason.
            PluginHostError: If the call fails.
        """
        __tracebackhide__ = True
        given = {**(credentials or {}), **more} or None
        providers = (*self.host.tool_providers, *self.host.model_providers)
        checking = self.host.validate_credentials(
            self._choose(given, providers, provider) or {},
            provider=provider,
            model=model,
            model_type=model_type,
        )
        self.run(checking)

    def call(self, kind: str, action: str, data: Mapping[str, Any]) -> list[JsonObject]:
        """Make any call of the protocol, such as of an endpoint, a datasource or a trigger, and return the objects of its answer.

        Args:
            kind: The kind of action, such as `"endpoint"`.
            action: The action, such as `"invoke_endpoint"`.
            data: The action's fields.

        Raises:
            PluginHostError: If the call fails.
        """
        __tracebackhide__ = True
        origin = CallOrigin(tenant_id=self._caller.tenant_id)
        return self._caller.collect(self.host.plugins[0].invoke(kind, action, data, origin=origin))

    @property
    def storage(self) -> MutableMapping[str, bytes]:
        """The values that the plugin has stored, by key; each test begins with an empty one."""
        return self.host.storage(self.folder, self._caller.tenant_id)

    @property
    def answered(self) -> Sequence[Messages | ModelAnswer]:
        """What tools, strategies and models have answered since the test began."""
        return self._caller.answered

    @property
    def log(self) -> str:
        """What the plugin has logged and written to stderr, and the tracebacks of its failed calls, since the test began."""
        return "\n".join(f"{one.level}: {one.text}" for one in tuple(self._notices))

    def begin_test(self) -> None:
        """Forget what earlier tests have left behind: answers, log and storage."""
        self._caller.begin_test()
        self._notices.clear()

    def redact(self, text: str) -> str:
        """Return a text with `[redacted]` in place of each credential that a call was made with, also where pytest has shortened it."""
        shown = KnownSecrets(self._secrets).redact(text)
        for secret in self._secrets if "..." in shown else ():
            for length in range(len(secret) - 1, _SHORTEST_REST, -1):
                shown = shown.replace(f"{secret[:length]}...", f"{REDACTED}...")
                shown = shown.replace(f"...{secret[-length:]}", f"...{REDACTED}")
        return shown

    def _choose(
        self,
        given: Mapping[str, Any] | None,
        providers: Iterable[ToolProvider | ModelProvider],
        name: str | None,
    ) -> dict[str, Any] | None:
        """Return the credentials for a call: those that were given, or else the plugin's own that the first provider of the name declares.

        Raises:
            CredentialsMissingError: If it requires one that there is not.
        """
        provider = next((one for one in providers if name is None or one.answers_to(name)), None)
        if given is not None:
            self._secrets.update(map(str, given.values()))
            return dict(given)
        if provider is None:
            return None
        declared, own = provider.credential_variables, self._credentials
        chosen = {name: own[name] for name in declared if name in own}
        if missing := provider.missing_variables(chosen):
            text = f"expected {', '.join(missing)} in the environment, or the credentials of provider {provider.name!r}"
            raise CredentialsMissingError(f"{text} in the fixture dify_credentials")
        return chosen or None


def _read(path: Path) -> PluginFolder:
    return PackageSource(path).folder if path.suffix == ".difypkg" else PluginFolder.read(path)

"""This plugin and the model plugin beside it, with Dify's part in between and the simulator in place of OpenAI."""

import asyncio
from pathlib import Path

from dify_plugin_host import (
    AgentRequest,
    HostSettings,
    PlatformRules,
    PluginHost,
    PluginInvokeError,
    PythonTool,
    ToolParameter,
)
from gpt5_simulator import SIMULATOR_KEY, ResponsesSimulator, ScriptedModel
from scripted_dify import Transcript


PLUGIN = Path(__file__).parent.parent
MODEL_PLUGIN = PLUGIN.parent / "openai_gpt5_responses"


def make_tool(function, *parameters):
    """Offer a function of text parameters as a tool."""
    return PythonTool(
        name=function.__name__,
        description=f"Does {function.__name__}.",
        parameters=tuple(ToolParameter(name=name, hint=str, type="string") for name in parameters),
        function=function,
    )


def echo(text):
    return text


def fail(text):
    raise RuntimeError(f"no route for {text}")


class ChangingModel:
    """The simulator's model: what it says is set anew for each test."""

    def __init__(self):
        self.current = ScriptedModel([])

    def respond(self, request):
        return self.current.respond(request)


class ChangingRules:
    """The platform's rules, of which some are set anew for a test: the host looks at them with each call."""

    def __init__(self):
        self.current = PlatformRules()

    def __getattr__(self, name):
        return getattr(self.current, name)


class BothPlugins:
    """A host with both plugins, called from ordinary tests."""

    def __init__(self, runner: asyncio.Runner, more_tools=()):
        self._runner = runner
        self._model = ChangingModel()
        self._server = ResponsesSimulator(model=self._model)
        self._rules = ChangingRules()
        self._tools = [make_tool(echo, "text"), make_tool(fail, "text"), *more_tools]
        self._host: PluginHost | None = None
        self._first = 0

    def start(self):
        self._server.__enter__()
        self._host = PluginHost(
            PLUGIN,
            MODEL_PLUGIN,
            credentials={
                "openai_api_key": SIMULATOR_KEY,
                "openai_api_base": self._server.base_url,
                "max_retries": "0",
            },
            tools=self._tools,
            settings=HostSettings(rules=self._rules),
            environment={
                "PATH": "/usr/bin:/bin",
                "NO_PROXY": "127.0.0.1",
                "GPT5_AGENT_TOOL_SEARCH_FROM": str(len(self._tools)),
            },
        )
        self._runner.run(self._host.start())

    def stop(self):
        self._runner.run(self._host.stop())
        self._server.__exit__(None, None, None)

    def apply(self, rules):
        """Have the platform follow these rules from now on."""
        self._rules.current = rules

    @property
    def bodies(self):
        """What the model plugin asked of OpenAI since the last script."""
        return [request.body for request in self._server.requests[self._first :]]

    def script(self, *turns, faults=()):
        """Have the model say these turns, one a request, with something going wrong or not."""
        self.use(ScriptedModel(turns))
        for fault in faults:
            self._server.add_fault(fault)

    def use(self, model):
        """Have another model of the simulator answer."""
        self._model.current = model
        self._first = len(self._server.requests)

    def run(self, query="What is it?", *, strategy="gpt5_function_calling", **fields):
        """Run an agent.

        `fields` are those of `AgentRequest`; others are parameters of the strategy.
        """
        known = {"model", "completion_params", "history", "origin"}
        request = AgentRequest(
            query=query,
            strategy=strategy,
            **{"model": "gpt-5.2"} | {name: fields.pop(name) for name in known & fields.keys()},
            parameters=fields,
        )
        return self._runner.run(self._collect(request))

    async def _collect(self, request):
        transcript = Transcript()
        try:
            async for message in self._host.run(request):
                transcript.messages.append(message)
        except PluginInvokeError as error:
            transcript.error = error
        return transcript

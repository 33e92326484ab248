"""Requests for runs of agents: what a client says, and what an agent makes of it."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from agent_driver import Agent, Message
from agent_loop import Role, ToolCall, load_messages
from agent_server.executor import JsonObject, RequestRefusedError
from agent_server.http import are_parts, build_model, read_content, refuse
from agent_tooling import Context, DeclarationError, Tool
from stream_text import dump_json, is_object, read_member


# JSON may escape half of a character, so clients and models can say one.
HALVES: Final = "surrogatepass"
_ROLES: Final[Mapping[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_TEXTS: Final = ("text", "refusal")
# What an agent itself has put out, and a client sends back: it says nothing that the calls beside it do not.
_SILENT: Final = frozenset(
    {"reasoning", "mcp_approval_request", "mcp_approval_response", "image_generation_call"}
)


def _validate_input(value: Any) -> Any:
    # Item by item where they are read: a model of pydantic would tell of each type that an item is not, and copy them all.
    if value and isinstance(value, str | list):
        return value  # pyright: ignore[reportUnknownVariableType] - any JSON
    raise ValueError("expected a text, or a list of items")


class ClientTool(BaseModel):
    """A function of the client's, which makes its calls itself.

    Attributes:
        name: Its name; no tool of the agent's has it.
        description: Its description for the model.
        parameters: The JSON schema of its arguments; null for none.
    """

    model_config = ConfigDict(extra="ignore", strict=True)

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def build(self, results: Mapping[str, Any], *, is_checked: bool) -> Tool[Any]:
        """Return the tool, which waits for a client and then has the result that the client gave.

        Args:
            results: What the client gave, by the ids of the calls.
            is_checked: Whether its parameters were checked before.

        Raises:
            DeclarationError: If no model takes it.
        """

        def give(context: Context[Any], **_arguments: Any) -> Any:
            return _read_result(results[context.call_id])

        tool = replace(_declared(), name=self.name, description=self.description or self.name)
        schema = self.parameters or {"type": "object", "properties": {}}
        made = tool.with_parameters(schema, is_checked=is_checked)
        return replace(made, function=give, is_external=True)


@cache
def _declared() -> Tool[Any]:
    """Return a tool that gets the context of its calls. It is made once: reading the function takes as long as the rest of a request."""

    def declare(context: Context[Any]) -> None: ...

    return Tool[Any].from_function(declare, description="", approval="always")


class AgentRequest(BaseModel):
    """A request for a run of an agent.

    Attributes:
        input: What is asked: a text, or items in the form of the Responses API, such as `{"role": "user", "content": "…"}`.
        instructions: More instructions, which follow the agent's own.
        tools: Functions of the client's.
        history: The conversation before it, as a run has left it.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    input: Annotated[Any, BeforeValidator(_validate_input)]
    instructions: str | None = None
    tools: list[ClientTool] = Field(default_factory=list, max_length=128)
    history: str | None = None

    def iter_messages(self, *, is_last: bool = False) -> Iterator[Any]:
        """Yield the messages of the conversation, with what came before the run.

        Args:
            is_last: Whether each item may be given up once it is a message.

        Raises:
            RequestRefusedError: If an item is none that an agent takes.
        """
        if self.history is not None:
            yield from load_messages(self.history)
        if isinstance(self.input, str):
            yield {"role": "user", "content": self.input}
        else:
            yield from _join_calls(_iter_messages(self.input, is_last=is_last))

    def build_agent(
        self,
        agent: Agent[Any, Any],
        results: Mapping[str, Any],
        *,
        is_checked: bool = False,
        **changes: Any,
    ) -> Agent[Any, Any]:
        """Return the agent as this request has it: with the client's instructions and functions.

        Args:
            agent: The agent.
            results: The results of calls of the client's functions, by their ids.
            is_checked: Whether it was built before, when the request was taken.
            changes: What else is to be different.

        Raises:
            RequestRefusedError: If a function is none, or has a name that is taken.
        """
        own = {tool.name for tool in agent.tools}
        tools: list[Tool[Any]] = []
        for index, asked in enumerate(self.tools):
            if asked.name in own:
                raise refuse(f"tools[{index}].name", "expected a name that no other tool has")
            own.add(asked.name)
            try:
                tools.append(asked.build(results, is_checked=is_checked))
            except DeclarationError as error:
                # Without what it has found, which is of the request.
                wanted = str(error).partition(", got ")[0]
                raise refuse(f"tools[{index}]", f"expected a function: {wanted}") from None
        if tools:
            changes["tools"] = [*agent.tools, *tools]
        if self.instructions:
            changes["instruction"] = "\n\n".join(
                filter(None, (agent.instruction, self.instructions))
            )
        return agent.with_(**changes) if changes else agent


def read_request(value: JsonObject) -> AgentRequest:
    """Return a request.

    Raises:
        RequestRefusedError: If it is none; the problems name fields, never values.
    """
    # First, since pydantic would tell of each while no other thread can run.
    if unknown := value.keys() - AgentRequest.model_fields.keys():
        raise refuse(min(unknown), "is not a field of a request for a run")
    return build_model(AgentRequest, value)


def _read_result(result: Any) -> Any:
    """Return a result of a client's function as the model reads it: content, or any other JSON as its text.

    So nothing further on mistakes it for content.
    """
    if are_parts(result):
        # What was given before there were these checks goes on as what it is.
        with suppress(RequestRefusedError):
            return _read_content(result, "")
    is_text = result is None or isinstance(result, str)
    return result if is_text else json.dumps(result, ensure_ascii=False)


def _iter_messages(items: list[Any], *, is_last: bool) -> Iterator[Message]:
    for index, item in enumerate(items):
        at = f"input[{index}]"
        if is_last:
            items[index] = None
        if not is_object(item):
            raise refuse(at, "expected an object")
        yield from _read_item(item, at)


def _read_item(item: Mapping[str, Any], at: str) -> Iterator[Message]:
    match item.get("type", "message"):
        case "message":
            yield _read_message(item, at)
        case "function_call":
            yield _build_call(item, _read_text(item, "call_id", at), at)
        case "function_call_output":
            yield _build_output(_read_text(item, "call_id", at), item.get("output"))
        case "mcp_call":
            # A call of the agent's own, in a conversation that the client keeps.
            call_id = _read_text(item, "id", at)
            yield _build_call(item, call_id, at)
            error = _read_error(item.get("error"), f"{at}.error.content")
            yield _build_output(call_id, item.get("output") or error)
        case str() as kind if kind in _SILENT:
            pass
        case _:
            raise refuse(f"{at}.type", "expected a kind of item that agents take")


def _read_message(item: Mapping[str, Any], at: str) -> Message:
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise refuse(f"{at}.role", f"expected one of {', '.join(_ROLES)}")
    return Message(role=_ROLES[role], content=_read_content(item.get("content"), f"{at}.content"))


def _read_content(value: Any, at: str) -> str | tuple[JsonObject, ...]:
    """Return content as a text, or as parts if there are images and files among them; a single part may stand without its list."""
    content = read_content(value if isinstance(value, str | list) else [value], at)
    if isinstance(content, str):
        return content
    texts = [part[name] for part in content for name in _TEXTS if name in part]
    return "\n".join(texts) if len(texts) == len(content) else tuple(content)


def _build_call(item: Mapping[str, Any], call_id: str, at: str) -> Message:
    name, arguments = (_read_text(item, one, at) for one in ("name", "arguments"))
    call = ToolCall(call_id=call_id, name=name, arguments=arguments)
    return Message(role="assistant", tool_calls=(call,))


def _build_output(call_id: str, output: Any) -> Message:
    content = output if isinstance(output, str) else dump_json(output)
    return Message(role="tool", tool_call_id=call_id, content=content)


def _read_error(error: Any, at: str) -> Any:
    """Return the sentence in the error of a call, where it has one."""
    content: Any = read_member(error, "content")
    return _read_content(content, at) if content else error


def _join_calls(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield messages in which the calls of a round are one, with their results behind it."""
    calls: list[Message] = []
    results: list[Message] = []
    for message in messages:
        if message.role == "tool":
            results.append(message)
            continue
        if results or not message.tool_calls:
            yield from _join_round(calls, results)
            calls, results = [], []
        if message.tool_calls:
            calls.append(message)
        else:
            yield message
    yield from _join_round(calls, results)


def _join_round(calls: Sequence[Message], results: Sequence[Message]) -> Iterator[Message]:
    if calls:
        yield Message(
            role="assistant", tool_calls=tuple(c for one in calls for c in one.tool_calls)
        )
    yield from results


def _read_text(item: Mapping[str, Any], name: str, at: str) -> str:
    value = item.get(name)
    if not isinstance(value, str):
        raise refuse(f"{at}.{name}", "expected a text")
    return value

"""What tools say of their calls, with the settings of a drive for those that say nothing: dependencies, time, tries and approval."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from threading import TIMEOUT_MAX
from types import NoneType
from typing import Any, get_args

from agent_tooling import ApprovalRules, Tool

from .declaration import find_agent
from .drive_settings import DriveSettings
from .models import tell


def find_timeout(tool: Tool, settings: DriveSettings) -> float | None:
    """Return how many seconds a try of a tool's call may take; None for any number."""
    seconds = settings.tool_timeout if tool.timeout is None else tool.timeout
    # No timer takes more, `math.inf` among that.
    return None if seconds is None or seconds > TIMEOUT_MAX else seconds


def find_retries(tool: Tool, settings: DriveSettings) -> int:
    """Return how often a call of a tool is tried again."""
    return settings.tool_retries if tool.retries is None else tool.retries


def for_agent(settings: DriveSettings, own: Mapping[str, Any]) -> DriveSettings:
    """Return the settings for the tools of an agent that is called as a tool.

    Args:
        settings: Those of its caller, which count where it has none. What its caller has a person approve, the rules of the caller's run say.
        own: Those of the agent itself.
    """
    names = ("tool_timeout", "tool_retries")
    given = {name: own[name] for name in names if name in own}
    return replace(settings, **given, tool_approval=own.get("tool_approval"))


def find_rules(tools: Iterable[Tool]) -> list[ApprovalRules]:
    """Return the rules of the tools that may ask for approval."""
    # `never` asks for nothing, and hides nothing that another rule asks for.
    found = (tool.approval_rules for tool in tools if tool.approval != "never")
    return [rules for rules in found if rules is not None]


def validate_tools(tools: Iterable[Tool], settings: DriveSettings) -> None:
    """Refuse tools that this drive could not call, also those of agents among them.

    Raises:
        DeclarationError: If a tool's approval has a path that its arguments cannot have.
        TypeError: If a tool takes dependencies of a type that `deps` is not of.
        ValueError: If a person may have to approve calls, and there is no key for a snapshot.
    """
    own = list(tools)
    if settings.snapshot_key is None:
        if settings.common_rules:
            raise ValueError("snapshot_key: expected a key, for tool_approval is set")
        if asking := [tool.name for tool in iter_all(own) if _asks(tool)]:
            raise ValueError(f"snapshot_key: expected a key, for {asking[0]} asks for approval")
    for tool in iter_all(own):
        # Where steps are recorded, they may be made by somebody else, who has the dependencies.
        is_for_others = settings.steps is not None and settings.deps is None
        is_taken = tool.deps_type is not None and not is_for_others
        if is_taken and not _is_of(settings.deps, tool.deps_type):
            wanted = getattr(tool.deps_type, "__qualname__", tool.deps_type)
            found = "none" if settings.deps is None else type(settings.deps).__name__
            raise TypeError(f"deps: the tool {tool.name} takes a Context[{wanted}], got {found}")
        for rules in find_rules([tool]):
            rules.for_tools({tool.name: ()}, {tool.name: tool.parameters})


def iter_all(tools: Iterable[Tool]) -> Iterator[Tool]:
    """Yield the tools, each agent followed by its own tools."""
    for tool in tools:
        yield tool
        if (agent := find_agent(tool)) is not None:
            yield from iter_all(agent.tools.values())


def iter_hosted(settings: DriveSettings, tools: Iterable[Tool]) -> Iterator[str]:
    """Yield the names of the tools that the servers of a drive's model, and of the agents among its tools, run by themselves."""
    told = settings.run.settings.hosted_tools
    yield from (tell(settings.model, "hosted_tools") if told is None else told) or ()
    for tool in iter_all(tools):
        agent = find_agent(tool)
        yield from (agent and agent.models.hosted_tools) or ()


def validate_hosted(names: Iterable[str], settings: DriveSettings) -> None:
    """Refuse tools that a model's server runs by itself where a person would have to approve their calls.

    Raises:
        ValueError: If there is one.
    """
    rules, common = settings.run.approval_rules or ApprovalRules(), settings.common_rules
    for name in names:
        if common or rules.find(name).ask != "never":
            way = "tool_approval is for every tool" if common else "a rule may say 'never' for it"
            why = "the model's server runs it by itself, and nobody can be asked"
            raise ValueError(f"approval: {name} would need a person's leave, but {why}; {way}")


def _asks(tool: Tool) -> bool:
    """Return whether a tool, or the agent that it is, may have a person approve a call."""
    if find_rules([tool]):
        return True
    agent = find_agent(tool)
    if agent is None:
        return False
    common = agent.drive.get("tool_approval")
    # It may be a mapping, which no set takes.
    return agent.run["approval_rules"] is not None or common not in (None, "never")


def _is_of(deps: object, kind: Any) -> bool:
    """Return whether dependencies are of a type. One that is no class, such as a protocol, is taken on trust, but nothing is not one."""
    try:
        return kind is Any or isinstance(deps, kind)
    except TypeError:
        return deps is not None or NoneType in get_args(kind)

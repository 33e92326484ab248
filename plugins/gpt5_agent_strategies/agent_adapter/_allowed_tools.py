"""The tools that a run may call, as the agent node names them and as a model's parameter takes them."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from agent_loop import CallModel
from agent_tooling import Tool
from stream_text import is_list

from ._errors import ParameterError
from ._model import Model


_FIELD = "allowed_tools"
# Not where one tool is forced by its name: that name is the tool choice itself.
_CHOICES_WITH_NAMES = {None, "auto", "required"}
# A list of exactly this length is refused by `openai_gpt5_responses` (A12): Dify cuts texts there.
_CUT_CHARACTERS = 1_024


def read_allowed_tools(value: object) -> tuple[str, ...] | None:
    """Read the names of the only tools that may be called: a list, a JSON list, lines, or one name. None means all.

    Raises:
        ParameterError: If it is none of these.
    """
    if isinstance(value, str):
        # Broken JSON is reported instead of being read as names that no tool has.
        value = parse_json(value, _FIELD) if value.strip()[:1] in {"[", '"'} else value.splitlines()
    if isinstance(value, str):
        value = [value]
    if value is None:
        return None
    names: Sequence[Any] = value if is_list(value) else [value]
    if any(not isinstance(name, str | None) for name in names):
        raise ParameterError(_FIELD, "names of tools: a list, a JSON list, or one a line", value)
    return tuple(name.strip() for name in names if name and name.strip()) or None


def parse_json(text: str, field: str) -> Any:
    """Parse a parameter that begins like JSON.

    Raises:
        ParameterError: If it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ParameterError(field, "valid JSON where it begins like it", text) from None


def find_allowed(
    wanted: Collection[str] | None, own_names: Mapping[str, str]
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the model's names of the wanted tools, None for all, and a line for each that does not exist.

    Args:
        wanted: The names in the node: a tool's own name, or the one by which the model calls it.
        own_names: The tools' own names, by the names by which the model calls them.
    """
    if wanted is None:
        return None, ()
    allowed = tuple(name for name, own in own_names.items() if not {name, own}.isdisjoint(wanted))
    known = {*own_names, *own_names.values()}
    return allowed, tuple(f"{name}: no tool of this name" for name in wanted if name not in known)


def build_model_parameter(request: CallModel, model: Model) -> dict[str, Any]:
    """Return the model's own parameter for the tools that may be called; nothing if it has none, or may not call any tool anyway.

    The app's builder may have set it, which narrows the choice further and may name tools that are not the node's, such as `web_search`.
    """
    takes_names = model.parameter_names is not None and _FIELD in model.parameter_names
    if not (takes_names and request.allowed_tools and request.tool_choice in _CHOICES_WITH_NAMES):
        return {}
    offered = {tool.name for tool in request.tools}
    set_by_hand = str(model.completion_params.get(_FIELD) or "").splitlines()
    names = [name for name in set_by_hand if name in request.allowed_tools or name not in offered]
    own = [tool.name for tool in request.tools if isinstance(tool, Tool)]  # of the run
    allowed = [name for name in request.allowed_tools if name in offered]
    names = list(dict.fromkeys([*names, *own])) if names else allowed
    lines = "\n".join(names)
    return {_FIELD: f"{lines}\n" if len(lines) == _CUT_CHARACTERS else lines}

"""What a real server would refuse about a tool that is no function.

Messages are in our own words; `param` and `code` are OpenAI's own.

Source: the types of openai 3.54.0, and https://platform.openai.com/docs/guides/tools with its pages on each tool, read in November 2026, for the
fields of web search that those types lack.
"""

import re
from collections.abc import Callable, Mapping

from gpt5_simulator._checks import bad_value, missing, validate_members, validate_value, wrong_type
from gpt5_simulator._errors import ApiError
from gpt5_simulator._json import Json, is_array, is_object, object_at
from gpt5_simulator._limits import validate_number


_CALLERS = "allowed_callers"
_FIELDS: dict[str, tuple[str, ...]] = {
    "web_search": (
        *("external_web_access", "filters", "image_settings", "return_token_budget"),
        *("search_content_types", "search_context_size", "user_location"),
    ),
    "web_search_preview": ("search_content_types", "search_context_size", "user_location"),
    "file_search": ("filters", "max_num_results", "ranking_options", "vector_store_ids"),
    "code_interpreter": (_CALLERS, "container"),
    "image_generation": (
        *("action", "background", "complexity", "frame_count", "frame_duration_ms"),
        *("input_fidelity", "input_image_mask", "model", "moderation", "n"),
        *("output_compression", "output_format", "partial_images", "quality", "size", "svg"),
    ),
    "mcp": (
        *(_CALLERS, "allowed_tools", "authorization", "connector_id", "defer_loading", "headers"),
        *("require_approval", "server_description", "server_label", "server_url", "tunnel_id"),
    ),
    "shell": (_CALLERS, "environment"),
    "local_shell": (),
    "apply_patch": (_CALLERS,),
    "computer": (),
    "computer_use_preview": ("display_height", "display_width", "environment"),
    "tool_search": ("description", "execution", "parameters"),
    "namespace": ("description", "name", "tools"),
    "programmatic_tool_calling": (),
}
_VALUES: dict[str, Mapping[str, tuple[str, ...]]] = {
    "web_search": {
        "return_token_budget": ("default", "unlimited"),
        "search_context_size": ("low", "medium", "high"),
    },
    "web_search_preview": {"search_context_size": ("low", "medium", "high")},
    "image_generation": {
        "action": ("generate", "edit", "auto"),
        "background": ("transparent", "opaque", "auto"),
        "complexity": ("low", "medium", "high"),
        "input_fidelity": ("high", "low"),
        "moderation": ("auto", "low"),
        "output_format": ("png", "webp", "jpeg", "gif", "svg"),
        "quality": ("low", "medium", "high", "xhigh", "max", "auto"),
    },
    "tool_search": {"execution": ("server", "client")},
}
_NUMBERS: dict[str, Mapping[str, tuple[int, int]]] = {
    "file_search": {"max_num_results": (1, 50)},
    "image_generation": {"partial_images": (0, 3), "output_compression": (0, 100)},
}
_SIZE = re.compile(r"([1-9]\d{0,3})x([1-9]\d{0,3})")
_STEP = 16
_MAX_EDGE = 3840
_MAX_PIXELS = 3840 * 2160
_MAX_RATIO = 3
_MEMORY = ("1g", "4g", "16g", "64g")
_MAX_DOMAINS = 100
_SERVERS = ("server_url", "connector_id", "tunnel_id")

HOSTED_TYPES = tuple(_FIELDS)


def validate_hosted_tool(tool: Json, where: str) -> None:
    """Refuse a tool with fields that it does not have, without those that it needs, or with wrong values.

    Args:
        tool: The tool, of one of `HOSTED_TYPES`.
        where: Its path.

    Raises:
        ApiError: If anything is wrong; it says the first thing.
    """
    kind = tool["type"]
    validate_members(where, tool, ("type", *_FIELDS[kind]))
    for name, accepted in _VALUES.get(kind, {}).items():
        validate_value(f"{where}.{name}", tool.get(name), accepted)
    for name, (least, most) in _NUMBERS.get(kind, {}).items():
        _validate_integer(f"{where}.{name}", tool.get(name), least=least, most=most)
    checks: dict[str, Callable[[Json, str], None]] = {
        "web_search": _validate_domains,
        "file_search": _validate_stores,
        "code_interpreter": _validate_container,
        "image_generation": _validate_picture,
        "mcp": _validate_server,
        "tool_search": _validate_search,
    }
    if kind in checks:
        checks[kind](tool, where)


def _validate_integer(param: str, value: object, *, least: int, most: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(param, wanted="an integer", got=value)
    validate_number(param, value, least=least, most=most)


def _validate_search(tool: Json, where: str) -> None:
    if tool.get("execution") == "client" and not tool.get("description"):
        raise missing(f"{where}.description")


def _validate_stores(tool: Json, where: str) -> None:
    _validate_texts(tool, "vector_store_ids", where)


def _validate_texts(value: Json, name: str, where: str) -> None:
    texts: object = value.get(name)
    if texts is None:
        raise missing(f"{where}.{name}")
    if not is_array(texts):
        raise wrong_type(f"{where}.{name}", wanted="an array of strings", got=texts)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise wrong_type(f"{where}.{name}[{index}]", wanted="a string", got=text)


def _validate_domains(tool: Json, where: str) -> None:
    filters, where = object_at(tool, "filters"), f"{where}.filters"
    names = ("allowed_domains", "blocked_domains")
    validate_members(where, filters, names)
    for name in names:
        if filters.get(name) is None:
            continue
        _validate_texts(filters, name, where)
        amount = len(filters[name])
        if amount > _MAX_DOMAINS:
            text = (
                f"Invalid '{where}.{name}': array too long. Expected an array with maximum length "
                f"{_MAX_DOMAINS}, but got an array with length {amount} instead."
            )
            raise ApiError(text, param=f"{where}.{name}", code="array_above_max_length")
        for index, domain in enumerate(filters[name]):
            if "/" in domain or ":" in domain:
                text = (
                    f"Invalid '{where}.{name}[{index}]': expected a domain such as 'example.com'."
                )
                raise ApiError(text, param=f"{where}.{name}[{index}]", code="invalid_value")


def _validate_container(tool: Json, where: str) -> None:
    container: object = tool.get("container")
    if container is None:
        raise missing(f"{where}.container")
    if isinstance(container, str):
        return
    if not is_object(container):
        raise wrong_type(f"{where}.container", wanted="a string or an object", got=container)
    known = ("type", "file_ids", "memory_limit", "network_policy")
    validate_members(f"{where}.container", container, known)
    if container.get("type") != "auto":
        raise bad_value(f"{where}.container.type", container.get("type"), accepted=("auto",))
    validate_value(f"{where}.container.memory_limit", container.get("memory_limit"), _MEMORY)


def _validate_picture(tool: Json, where: str) -> None:
    size: object = tool.get("size")
    if size not in (None, "auto") and not _is_size(size):
        text = (
            f"Invalid value: '{size}'. Expected 'auto' or 'WIDTHxHEIGHT' with edges that are divisible by {_STEP}, "
            f"a ratio of at most {_MAX_RATIO} to 1, and at most 3840x2160 pixels."
        )
        raise ApiError(text, param=f"{where}.size", code="invalid_value")
    if tool.get("background") == "transparent" and tool.get("output_format") == "jpeg":
        text = "Transparent background is not supported for JPEG output format."
        raise ApiError(text, param=f"{where}.background", code="invalid_value")


def _is_size(value: object) -> bool:
    """Return whether a text is a size that pictures can have.

    Source: the docstring of `size` in `tool.py` of openai 3.54.0.
    """
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return False
    short, long = sorted((int(found[1]), int(found[2])))
    is_step = short % _STEP == long % _STEP == 0
    return is_step and long <= min(_MAX_EDGE, short * _MAX_RATIO) and short * long <= _MAX_PIXELS


def _validate_server(tool: Json, where: str) -> None:
    if not isinstance(tool.get("server_label"), str):
        raise missing(f"{where}.server_label")
    given = [name for name in _SERVERS if tool.get(name) is not None]
    if not given:
        raise missing(f"{where}.server_url")
    if len(given) > 1:
        listed = " or ".join(f"'{name}'" for name in given)
        text = f"Mutually exclusive parameters. Ensure you are only providing one of: {listed}."
        raise ApiError(text, param=where, code="mutually_exclusive_parameters")
    url: object = tool.get("server_url")
    if url is not None and not str(url).startswith(("https://", "http://")):
        text = f"Invalid '{where}.server_url': expected a URL that begins with 'https://'."
        raise ApiError(text, param=f"{where}.server_url", code="invalid_value")
    approval: object = tool.get("require_approval")
    if is_object(approval):
        validate_members(f"{where}.require_approval", approval, ("always", "never"))
    else:
        validate_value(f"{where}.require_approval", approval, ("always", "never"))
    headers: object = tool.get("headers")
    if headers is not None and not is_object(headers):
        raise wrong_type(f"{where}.headers", wanted="an object", got=headers)

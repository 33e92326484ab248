"""Values of tool settings that must not appear in errors, logs or traces."""

from collections.abc import Iterator, Mapping

from stream_text import KnownSecrets, is_list, is_object, is_secret_setting


# Shorter values are words such as "true" or "eu-1", unless their parameter is a secret by its type
# or name.
_SHORTEST = 8
_MAX_LINES = 200


def find_secrets(tools: object) -> KnownSecrets:
    """Return the values of all parameters that are hidden from the model, even those of tools that cannot be read."""
    several = tools if is_list(tools) else ()
    return KnownSecrets((text for tool in several for text in _find_hidden(tool)), shortest=1)


def _find_hidden(tool: object) -> Iterator[str]:
    if not is_object(tool):
        return
    declared = tool.get("parameters")
    parameters = {
        str(parameter.get("name")): parameter
        for parameter in filter(is_object, declared if is_list(declared) else ())
    }
    configured = tool.get("runtime_parameters")
    values = [(name, parameter.get("default")) for name, parameter in parameters.items()]
    values += configured.items() if isinstance(configured, Mapping) else [("", configured)]
    for name, value in values:
        # A value without a declaration is hidden from the model, too.
        parameter = parameters.get(name, {"form": "form"})
        is_secret = parameter.get("type") == "secret-input" or is_secret_setting(str(name))
        if is_secret or (parameter.get("form") or "llm") != "llm":
            yield from _find_texts(value, shortest=1 if is_secret else _SHORTEST)


def _find_texts(value: object, *, shortest: int) -> Iterator[str]:
    """Yield the texts in a value, line by line; without recursion, since it may nest deeply."""
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if is_object(item):
            waiting += item.values()
        elif is_list(item):
            waiting += item
        elif item is not None and not isinstance(item, bool):
            lines = str(item).splitlines()[:_MAX_LINES]
            # A short line of a longer value, such as a bracket, stands in other texts by chance.
            least = shortest if len(lines) == 1 else _SHORTEST
            yield from (line for line in lines if len(line.strip()) >= least)

"""Reader of untrusted YAML, which works without recursion, so that no depth of nesting can end the process."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml


__all__ = ["Node", "YamlError", "compose", "load_yaml"]

# The C parser is five times as fast, and each start of a plugin reads a dozen files.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Source: https://github.com/go-yaml/yaml/blob/v3.0.1/scannerc.go, `max_flow_level` and `max_indents`.
_MAX_DEPTH = 10_000
# As deep as the SDK's own loader gets in Python; tried with PyYAML 6.0.3 and dify-plugin 0.10.2.
_MAX_LOADED_DEPTH = 400


class YamlError(ValueError):
    """A text that is not YAML, or is nested too deeply."""


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """A node of a document.

    Attributes:
        kind: The kind of node.
        tag: The explicit tag, in its short form such as `!!str`; empty if there is none.
        value: A scalar's text, or the anchor that an alias names.
        is_plain: Whether a scalar is written without quotes.
        line: Its line, counted from 1.
        children: The items of a sequence; the alternating keys and values of a mapping.
        target: The node that an alias stands for.
    """

    kind: Literal["scalar", "sequence", "mapping", "alias"]
    tag: str = ""
    value: str = ""
    is_plain: bool = False
    line: int
    children: list["Node"] = field(default_factory=list["Node"])
    target: "Node | None" = None

    @property
    def pairs(self) -> Iterator[tuple["Node", "Node"]]:
        """The keys of a mapping with their values."""
        return zip(self.children[::2], self.children[1::2], strict=True)


def _parse(content: bytes | str) -> Iterator[yaml.Event]:
    return yaml.parse(content, Loader=_LOADER)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - the stubs say nothing


def compose(content: bytes | str) -> Node | None:
    """Return the root of the first document; None if there is none.

    Raises:
        YamlError: If the document cannot be read.
    """
    anchors: dict[str, Node] = {}
    root: Node | None = None
    stack: list[Node] = []
    try:
        for event in _parse(content):
            match event:
                case yaml.DocumentEndEvent():
                    break
                case yaml.CollectionEndEvent():
                    stack.pop()
                case yaml.NodeEvent():
                    node = _node(event, anchors)
                    root = root or node
                    if stack:
                        stack[-1].children.append(node)
                    if isinstance(event, yaml.CollectionStartEvent):
                        stack.append(node)
                    if len(stack) > _MAX_DEPTH:
                        raise YamlError(f"line {node.line}: nested more than {_MAX_DEPTH} deep")
                case _:
                    pass
    except yaml.YAMLError as error:
        raise YamlError(" ".join(str(error).split())) from None
    return root


def _node(event: yaml.NodeEvent, anchors: dict[str, Node]) -> Node:
    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent):
        if event.anchor not in anchors:
            raise YamlError(f"line {line}: unknown anchor {event.anchor!r}")
        return Node(kind="alias", value=event.anchor, line=line, target=anchors[event.anchor])
    tag = str(getattr(event, "tag", None) or "").replace("tag:yaml.org,2002:", "!!", 1)
    if isinstance(event, yaml.ScalarEvent):
        is_plain = not event.style
        node = Node(kind="scalar", tag=tag, value=event.value, is_plain=is_plain, line=line)
    else:
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        node = Node(kind="mapping" if is_mapping else "sequence", tag=tag, line=line)
    if event.anchor:
        anchors[event.anchor] = node
    return node


def load_yaml(content: bytes | str) -> Any:
    """Return the content of a YAML text as the plugin SDK reads it.

    Raises:
        YamlError: If it cannot be read.
    """
    try:
        _validate_depth(content)
        return yaml.load(content, Loader=_LOADER)  # noqa: S506 - a safe loader either way
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(" ".join(str(error).split())) from None


def _validate_depth(content: bytes | str) -> None:
    """Refuse what is nested too deeply, before it is loaded, which is recursive."""
    text = content.encode(errors="replace") if isinstance(content, str) else content
    # Each level begins with one of these, of which few files have so many.
    if sum(map(text.count, b"-:?[{")) <= _MAX_LOADED_DEPTH:
        return
    depth = 0
    for event in _parse(content):
        starts = isinstance(event, yaml.CollectionStartEvent)
        depth += starts - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_LOADED_DEPTH:
            raise YamlError(f"nested more than {_MAX_LOADED_DEPTH} deep")

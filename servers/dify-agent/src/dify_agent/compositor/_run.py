"""One entered graph: its layers, their contributions to a run, and their snapshot."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic_ai import Tool

from dify_agent.exceptions import CompositionError, LayerLifecycleError

from ._layer import ExitIntent, Layer, LifecycleState, PlainLayer, UserPrompt
from ._snapshot import CompositorSessionSnapshot, LayerSessionSnapshot


@dataclass(slots=True, kw_only=True, eq=False)
class LayerRunSlot:
    """One layer of a run.

    Attributes:
        name: The layer's name in the graph.
        layer: The layer.
        lifecycle_state: Its state in the lifecycle.
        exit_intent: The meaning of leaving it; `delete` unless somebody asks for its state to be kept.
    """

    name: str
    layer: Layer[Any, Any, Any]
    lifecycle_state: LifecycleState = "new"
    exit_intent: ExitIntent = "delete"

    async def enter(self) -> None:
        """Enter the layer, new or suspended."""
        await self.layer.on_enter(resumed=self.lifecycle_state == "suspended")
        self.lifecycle_state = "active"

    async def exit(self) -> None:
        """Leave the layer suspended or closed, as its exit intent says."""
        self.lifecycle_state = "suspended" if self.exit_intent == "suspend" else "closed"
        await self.layer.on_exit(self.exit_intent)

    def snapshot(self) -> LayerSessionSnapshot:
        """Return the snapshot of the layer; a closed one keeps no state."""
        kept = self.lifecycle_state == "suspended"
        # Without validation, which would copy the state.
        return LayerSessionSnapshot.model_construct(
            name=self.name,
            type_id=self.layer.type_id,
            lifecycle_state="suspended" if kept else "closed",
            runtime_state=self.layer.runtime_state.model_dump(mode="json") if kept else {},
        )


class CompositorRun:
    """The layers of one run.

    Attributes:
        slots: The layers by name, in the order of the graph.
    """

    def __init__(self, slots: Mapping[str, LayerRunSlot]) -> None:
        self.slots: Mapping[str, LayerRunSlot] = MappingProxyType(dict(slots))

    @property
    def session_snapshot(self) -> CompositorSessionSnapshot:
        """Return the snapshot that a later run continues from.

        Raises:
            LayerLifecycleError: If the run has not been left yet.
        """
        if any(slot.lifecycle_state in {"new", "active"} for slot in self.slots.values()):
            raise LayerLifecycleError(
                "The session snapshot can be read only after the layers of the run have been left."
            )
        return CompositorSessionSnapshot(
            layers=tuple(slot.snapshot() for slot in self.slots.values())
        )

    @property
    def prompts(self) -> list[str]:
        """Return the texts of the instruction: all layers' prefixes, then their suffixes with the layers in reverse."""
        layers = list(self._plain_layers())
        prefixes = (text for layer in layers for text in layer.prefix_prompts)
        suffixes = (text for layer in reversed(layers) for text in layer.suffix_prompts)
        return [*prefixes, *suffixes]

    @property
    def said_prompts(self) -> list[UserPrompt]:
        """Return the user's texts and files."""
        return [text for layer in self._plain_layers() for text in layer.user_prompts]

    @property
    def user_prompts(self) -> list[UserPrompt]:
        """Return the user's texts and files, and then what was found for them."""
        found = [text for layer in self._plain_layers() for text in layer.found_prompts]
        return [*self.said_prompts, *found]

    @property
    def tools(self) -> list[Tool[object]]:
        """Return the layers' ready-made tools."""
        return [tool for layer in self._plain_layers() for tool in layer.tools]

    def set_exit_intents(
        self, *, default: ExitIntent, layers: Mapping[str, ExitIntent] | None = None
    ) -> None:
        """Set the exit intents of the layers.

        Args:
            default: For every layer that `layers` does not name.
            layers: For single layers, by name.

        Raises:
            CompositionError: If `layers` names a layer that the run does not have.
        """
        intents = layers or {}
        if unknown := sorted(intents.keys() - self.slots.keys()):
            raise CompositionError(f"on_exit: no layer is named {', '.join(map(repr, unknown))}")
        for name, slot in self.slots.items():
            slot.exit_intent = intents.get(name, default)

    def _plain_layers(self) -> Iterator[PlainLayer[Any, Any, Any]]:
        for slot in self.slots.values():
            if isinstance(slot.layer, PlainLayer):
                yield slot.layer

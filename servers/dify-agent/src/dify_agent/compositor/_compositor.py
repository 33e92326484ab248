"""The compositor, which brings a graph of layers to life for one run."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pydantic import BaseModel, ValidationError

from dify_agent.exceptions import CompositionError, LayerLifecycleError, SnapshotError

from ._config import LayerConfigInput
from ._graph import LayerNode, validate_node
from ._run import CompositorRun, LayerRunSlot
from ._snapshot import CompositorSessionSnapshot, LayerSessionSnapshot


class Compositor:
    """A graph of layers that can be entered any number of times; each time gets layers of its own."""

    def __init__(self, nodes: Sequence[LayerNode]) -> None:
        """Take the nodes, each after those that it depends on.

        Raises:
            CompositionError: If two nodes have the same name, or a node needs a layer that no earlier node makes.
        """
        self._nodes: dict[str, LayerNode] = {}
        for node in nodes:
            validate_node(node, earlier=self._nodes)
            self._nodes[node.name] = node

    @asynccontextmanager
    async def enter(
        self,
        configs: Mapping[str, LayerConfigInput] | None = None,
        *,
        session_snapshot: CompositorSessionSnapshot | None = None,
    ) -> AsyncGenerator[CompositorRun]:
        """Make the layers, enter them in order, and leave them in the opposite order.

        All layers are made and checked before the first is entered. If entering one fails, those before it are left.
        Once the last is left, the run's `session_snapshot` can be read.

        Args:
            configs: The layers' configurations by name; a layer that is not named takes its defaults.
            session_snapshot: The snapshot of an earlier run of the same graph; without it every layer starts afresh.

        Raises:
            CompositionError: If a configuration does not fit, or belongs to no layer.
            SnapshotError: If the snapshot does not belong to this graph.
            LayerLifecycleError: If the snapshot holds a closed layer, or a provider returned the same layer twice.
        """
        # In a thread, because large configurations and states would hold up the event loop.
        slots = await asyncio.to_thread(self._make_slots, configs or {}, session_snapshot)
        del configs, session_snapshot  # Layers keep what they need of them, which may be large.
        run = CompositorRun(slots)
        async with AsyncExitStack() as stack:
            for slot in run.slots.values():
                await slot.enter()
                # Only now: a layer that fails to enter has nothing to leave.
                stack.push_async_callback(slot.exit)
            yield run

    def validate_configs(self, configs: Mapping[str, LayerConfigInput]) -> None:
        """Check the layers' configurations without making a layer.

        Raises:
            CompositionError: If a configuration does not fit, or belongs to no layer.
        """
        if unknown := sorted(configs.keys() - self._nodes.keys()):
            raise CompositionError(f"configs: no layer is named {', '.join(map(repr, unknown))}")
        for node in self._nodes.values():
            node.provider.read_config(configs.get(node.name), layer=node.name)

    def _make_slots(
        self,
        configs: Mapping[str, LayerConfigInput],
        session_snapshot: CompositorSessionSnapshot | None,
    ) -> dict[str, LayerRunSlot]:
        self.validate_configs(configs)
        kept = self._match_snapshot(session_snapshot)
        slots: dict[str, LayerRunSlot] = {}
        for node in self._nodes.values():
            layer = node.provider.create(configs.get(node.name))
            deps = {name: slots[target].layer for name, target in node.deps.items()}
            state = _restore_state(node, kept.get(node.name))
            layer.bind(deps=layer.deps_type(**deps), runtime_state=state)
            slots[node.name] = LayerRunSlot(
                name=node.name, layer=layer, lifecycle_state="new" if state is None else "suspended"
            )
        return slots

    def _match_snapshot(
        self, snapshot: CompositorSessionSnapshot | None
    ) -> Mapping[str, LayerSessionSnapshot]:
        if snapshot is None:
            return {}
        expected = [(node.name, node.provider.type_id) for node in self._nodes.values()]
        actual = [(layer.name, layer.type_id) for layer in snapshot.layers]
        if actual != expected:
            raise SnapshotError(
                f"The session snapshot must hold the layers {expected} in this order, got {actual}."
            )
        return {layer.name: layer for layer in snapshot.layers}


def _restore_state(node: LayerNode, kept: LayerSessionSnapshot | None) -> Any | None:
    if kept is None:
        return None
    if kept.lifecycle_state == "closed":
        raise LayerLifecycleError(f"Layer {node.name!r} is closed and cannot be entered again.")
    state_type: type[BaseModel] = node.provider.layer_type.runtime_state_type
    try:
        # A snapshot is JSON, so its state is parsed as JSON: bytes and times are texts.
        return state_type.model_validate_json(json.dumps(kept.runtime_state))
    except ValidationError:
        raise SnapshotError(
            f"The session snapshot's state of layer {node.name!r} cannot be read."
        ) from None

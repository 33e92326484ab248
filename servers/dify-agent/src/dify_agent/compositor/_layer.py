"""Layers: each is one concern of a run, with a configuration, dependencies and a state that outlives the run."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import get_original_bases
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    cast,
    dataclass_transform,
    get_args,
    override,
)

import httpx
from pydantic import BaseModel, ConfigDict, Discriminator
from pydantic_ai import Tool
from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, ImageUrl, VideoUrl

from dify_agent.exceptions import LayerLifecycleError

from ._config import LayerConfig


type LifecycleState = Literal["new", "active", "suspended", "closed"]
"""The state of a layer in its lifecycle. Only a new or a suspended layer can be entered; a closed one stays closed.

new --enter--> active --exit(suspend)--> suspended --enter--> active
                      --exit(delete)---> closed
"""

type ExitIntent = Literal["suspend", "delete"]
"""The meaning of leaving a layer: keep its state for a later run, or end it for good."""

type UserPrompt = (
    str
    | Annotated[ImageUrl | AudioUrl | VideoUrl | DocumentUrl | BinaryContent, Discriminator("kind")]
)
"""A text or a file, in the classes of Pydantic AI; in JSON a file is recognised by its `kind`."""


type StepWork = Callable[[], Awaitable[bytes]]
"""The work of a step; its result is what a record of it holds."""


class Once(Protocol):
    """A function that does a step once in the life of a run, even if the process dies."""

    async def __call__(self, key: str, work: StepWork) -> bytes:
        """Return the result of the step: what `work` returns, or what an earlier attempt of the run has recorded.

        Args:
            key: The step's name, which is its own and the same in every attempt.
            work: Does the step.
        """
        ...


async def do_once(key: str, work: StepWork) -> bytes:  # noqa: ARG001 - nothing is recorded under it
    """Do a step where nothing is recorded, so that a run has one attempt."""
    return await work()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """The means by which a layer gets ready for a run.

    Attributes:
        run_id: The run.
        http_client: The caller's open client, which remains the caller's.
        said: The user's texts and files.
        once: Does a step once in the life of the run; keys are the layer's own.
    """

    run_id: str
    http_client: httpx.AsyncClient = field(repr=False)
    said: Sequence[UserPrompt] = ()
    once: Once = do_once


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """What was said in a run that has ended well.

    Attributes:
        said: The user's texts and files; none if the run continued with the results of deferred calls.
        output: The answer; None if the run ended with a question.
    """

    said: Sequence[UserPrompt]
    output: object


@dataclass_transform(kw_only_default=True, frozen_default=True)
class LayerDeps:
    """The base of a layer's dependencies: one annotated field per layer that it needs, with the default None for one that it does without.

    ```python
    class SearchDeps(LayerDeps):
        index: IndexLayer
        cache: CacheLayer | None = None
    ```
    """

    @override
    def __init_subclass__(cls) -> None:
        """Make the subclass a frozen dataclass of keyword-only fields."""
        super().__init_subclass__()
        dataclass(frozen=True, kw_only=True)(cls)


class NoLayerDeps(LayerDeps):
    """The dependencies of a layer that needs no other."""


class EmptyRuntimeState(BaseModel):
    """The state of a layer that keeps nothing between runs."""

    model_config = ConfigDict(extra="forbid")


@dataclass(eq=False)
class Layer[DepsT: LayerDeps, ConfigT: LayerConfig, StateT: BaseModel]:
    """One concern of a run.

    A subclass names its three types in its base, such as `PlainLayer[NoLayerDeps, MyConfig, EmptyRuntimeState]`, and its
    `type_id`. An instance serves one run: dependencies and state are bound to it once, before it is entered.

    Attributes:
        type_id: The name under which requests ask for this kind of layer.
        deps: The layers that it depends on, once bound.
        runtime_state: The state that a snapshot keeps: plain data, never a configuration, a secret or a live client.
    """

    type_id: ClassVar[str]
    deps_type: ClassVar[type[LayerDeps]]
    config_type: ClassVar[type[LayerConfig]]
    runtime_state_type: ClassVar[type[BaseModel]]

    deps: DepsT = field(init=False, repr=False)
    runtime_state: StateT = field(init=False, repr=False)

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Read the three types from the subclass's base."""
        super().__init_subclass__(**kwargs)
        for base in get_original_bases(cls):
            types = get_args(base)
            # In a generic base, such as that of `PlainLayer` itself, they are still type variables.
            if len(types) == 3 and all(isinstance(each, type) for each in types):  # noqa: PLR2004 - deps, config, state
                cls.deps_type, cls.config_type, cls.runtime_state_type = types

    @classmethod
    def from_config(cls, config: ConfigT) -> Self:
        """Make a fresh layer from its configuration.

        The default calls the class with `config`; a layer that needs more overrides it.
        """
        return cast("Any", cls)(config=config)

    def bind(self, *, deps: DepsT, runtime_state: StateT | None = None) -> None:
        """Give the layer its dependencies, and the state to continue from.

        Args:
            deps: The layers that it needs.
            runtime_state: Its state from an earlier run; a fresh one if left out.

        Raises:
            LayerLifecycleError: If the layer is already bound, which means that it belongs to another run.
        """
        if hasattr(self, "deps"):
            raise LayerLifecycleError(
                f"{type(self).__name__} is in use already; a layer serves one run, so a provider factory must return a"
                " fresh instance each time."
            )
        self.deps = deps
        self.runtime_state = (
            cast("StateT", self.runtime_state_type()) if runtime_state is None else runtime_state
        )

    async def on_enter(self, *, resumed: bool) -> None:
        """Prepare for the run; the default does nothing.

        Args:
            resumed: Whether the layer's state comes from an earlier run.
        """

    async def on_start(self, start: RunStart) -> None:
        """Get ready for the run where that takes a network, before prompts, model and tools are read; the default does nothing.

        All layers have been entered; a run that continues after a wait starts again.

        Args:
            start: The means.
        """

    async def on_end(self, start: RunStart, end: RunEnd) -> None:
        """Note what was said, once the agent has answered and before the layers are left; the default does nothing.

        Args:
            start: The means that `on_start` had.
            end: What was said.
        """

    async def on_exit(self, intent: ExitIntent) -> None:
        """Release the resources of `on_enter`; the default does nothing.

        Args:
            intent: Whether the state is kept for a later run.
        """


@dataclass(eq=False)
class PlainLayer[DepsT: LayerDeps, ConfigT: LayerConfig, StateT: BaseModel](
    Layer[DepsT, ConfigT, StateT]
):
    """One concern of a run that may add plain prompts and ready-made tools to it.

    A run's prompts are the prefixes of all layers in the order of the graph, then the suffixes in the opposite order.
    """

    @property
    def prefix_prompts(self) -> Sequence[str]:
        """Return the texts that the instruction begins with."""
        return ()

    @property
    def suffix_prompts(self) -> Sequence[str]:
        """Return the texts that the instruction ends with."""
        return ()

    @property
    def user_prompts(self) -> Sequence[UserPrompt]:
        """Return the user's texts and files."""
        return ()

    @property
    def found_prompts(self) -> Sequence[str]:
        """Return texts that follow what the user says, and that the user did not say."""
        return ()

    @property
    def tools(self) -> Sequence[Tool[object]]:
        """Return tools that are ready to use."""
        return ()

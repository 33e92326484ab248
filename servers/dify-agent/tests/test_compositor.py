import re
from dataclasses import dataclass, field
from typing import ClassVar, override

import pytest
from pydantic import BaseModel, Field, SecretStr

from dify_agent.compositor import (
    Compositor,
    CompositorRun,
    CompositorSessionSnapshot,
    EmptyRuntimeState,
    ExitIntent,
    Layer,
    LayerConfig,
    LayerDeps,
    LayerNode,
    LayerProvider,
    LayerSessionSnapshot,
    NoLayerDeps,
    PlainLayer,
)
from dify_agent.exceptions import CompositionError, LayerLifecycleError, SnapshotError


class CounterConfig(LayerConfig):
    step: int = 1
    password: SecretStr = SecretStr("")
    span: tuple[int, int] = (0, 9)
    names: dict[int, str] = Field(default_factory=dict)


class CounterState(BaseModel):
    value: int = 0
    raw: bytes = b""


@dataclass(slots=True, eq=False)
class CounterLayer(PlainLayer[NoLayerDeps, CounterConfig, CounterState]):
    """A layer that counts its entries, and says what happens to it in a list that belongs to the test."""

    type_id: ClassVar[str] = "test.counter"

    config: CounterConfig
    diary: list[str] = field(default_factory=list)

    @override
    async def on_enter(self, *, resumed: bool) -> None:
        self.runtime_state.value += self.config.step
        self.diary.append(f"enter {'resumed' if resumed else 'new'}")

    @override
    async def on_exit(self, intent: ExitIntent) -> None:
        self.diary.append(f"exit {intent}")


class ReaderDeps(LayerDeps):
    counter: CounterLayer


@dataclass(slots=True, eq=False)
class ReaderLayer(PlainLayer[ReaderDeps, LayerConfig, EmptyRuntimeState]):
    type_id: ClassVar[str] = "test.reader"

    config: LayerConfig

    @property
    @override
    def prefix_prompts(self):
        return [f"count {self.deps.counter.runtime_state.value}"]

    @property
    @override
    def suffix_prompts(self):
        return ["read"]


COUNTER = LayerProvider.from_layer_type(CounterLayer)
READER = LayerProvider.from_layer_type(ReaderLayer)


def counter_and_reader() -> Compositor:
    return Compositor(
        [
            LayerNode(name="counter", provider=COUNTER),
            LayerNode(name="reader", provider=READER, deps={"counter": "counter"}),
        ]
    )


def counter_of(run: CompositorRun) -> CounterLayer:
    layer = run.slots["counter"].layer
    assert isinstance(layer, CounterLayer)
    return layer


async def test_a_layer_finds_the_earlier_layer_that_it_depends_on():
    async with counter_and_reader().enter({"counter": {"step": 5}}) as run:
        assert run.prompts == ["count 5", "read"]


async def test_each_entry_gets_layers_of_its_own():
    compositor = counter_and_reader()
    async with compositor.enter() as first, compositor.enter() as second:
        assert counter_of(first) is not counter_of(second)
        assert counter_of(second).runtime_state.value == 1


async def test_suffixes_come_in_the_opposite_order_of_the_layers():
    compositor = Compositor(
        [
            LayerNode(name="counter", provider=COUNTER),
            LayerNode(name="a", provider=READER, deps={"counter": "counter"}),
            LayerNode(name="b", provider=READER, deps={"counter": "counter"}),
        ]
    )
    async with compositor.enter() as run:
        assert run.prompts == ["count 1", "count 1", "read", "read"]
        assert run.user_prompts == []
        assert run.tools == []


async def test_a_layer_that_is_not_plain_adds_nothing_to_prompts_and_tools():
    @dataclass(eq=False)
    class Bare(Layer[NoLayerDeps, LayerConfig, EmptyRuntimeState]):
        type_id: ClassVar[str] = "test.bare"
        config: LayerConfig

    compositor = Compositor([LayerNode(name="bare", provider=LayerProvider.from_layer_type(Bare))])
    async with compositor.enter() as run:
        assert (run.prompts, run.user_prompts, run.tools) == ([], [], [])


async def test_layers_are_left_in_the_opposite_order_also_when_the_run_fails():
    order: list[str] = []

    @dataclass(eq=False)
    class Noting(PlainLayer[NoLayerDeps, LayerConfig, EmptyRuntimeState]):
        type_id: ClassVar[str] = "test.noting"
        config: LayerConfig

        @override
        async def on_exit(self, intent: ExitIntent) -> None:
            order.append(next(n for n, slot in run.slots.items() if slot.layer is self))

    provider = LayerProvider.from_layer_type(Noting)
    compositor = Compositor([LayerNode(name=name, provider=provider) for name in "abc"])
    with pytest.raises(ZeroDivisionError):
        async with compositor.enter() as run:
            raise ZeroDivisionError
    assert order == ["c", "b", "a"]


async def test_a_layer_that_cannot_be_left_in_order_does_not_keep_the_others_from_it():
    @dataclass(eq=False)
    class Stuck(PlainLayer[NoLayerDeps, LayerConfig, EmptyRuntimeState]):
        type_id: ClassVar[str] = "test.stuck"
        config: LayerConfig

        @override
        async def on_exit(self, intent: ExitIntent) -> None:
            raise ZeroDivisionError

    compositor = Compositor(
        [
            LayerNode(name="counter", provider=COUNTER),
            LayerNode(name="stuck", provider=LayerProvider.from_layer_type(Stuck)),
        ]
    )
    with pytest.raises(ZeroDivisionError):
        async with compositor.enter() as run:
            pass
    assert counter_of(run).diary == ["enter new", "exit delete"]
    assert {slot.lifecycle_state for slot in run.slots.values()} == {"closed"}


async def test_when_entering_a_layer_fails_those_before_it_are_left():
    @dataclass(eq=False)
    class Broken(PlainLayer[NoLayerDeps, LayerConfig, EmptyRuntimeState]):
        type_id: ClassVar[str] = "test.broken"
        config: LayerConfig

        @override
        async def on_enter(self, *, resumed: bool) -> None:
            raise ZeroDivisionError

    diary: list[str] = []
    shared = LayerProvider.from_factory(CounterLayer, lambda config: CounterLayer(config, diary))
    compositor = Compositor(
        [
            LayerNode(name="counter", provider=shared),
            LayerNode(name="broken", provider=LayerProvider.from_layer_type(Broken)),
        ]
    )
    with pytest.raises(ZeroDivisionError):
        async with compositor.enter():
            pytest.fail("a run must not begin without all of its layers")
    assert diary == ["enter new", "exit delete"]


async def test_a_suspended_layer_goes_on_from_its_state():
    compositor = counter_and_reader()
    async with compositor.enter({"counter": {"step": 2}}) as first:
        first.set_exit_intents(default="suspend")
        counter_of(first).runtime_state.raw = b"\x00\xff"[:1]
    async with compositor.enter(session_snapshot=first.session_snapshot) as second:
        layer = counter_of(second)
        assert layer.runtime_state == CounterState(value=3, raw=b"\x00")
        assert layer.diary == ["enter resumed"]


async def test_a_snapshot_survives_json():
    compositor = counter_and_reader()
    async with compositor.enter() as run:
        run.set_exit_intents(default="suspend")
    text = run.session_snapshot.model_dump_json()
    assert CompositorSessionSnapshot.model_validate_json(text) == run.session_snapshot


async def test_a_snapshot_holds_states_and_no_configuration():
    async with counter_and_reader().enter(
        {"counter": CounterConfig(password=SecretStr("hunter2"))}
    ) as run:
        run.set_exit_intents(default="suspend")
    assert run.session_snapshot.model_dump(mode="json") == {
        "schema_version": 1,
        "layers": [
            {
                "name": "counter",
                "type_id": "test.counter",
                "lifecycle_state": "suspended",
                "runtime_state": {"value": 1, "raw": ""},
            },
            {
                "name": "reader",
                "type_id": "test.reader",
                "lifecycle_state": "suspended",
                "runtime_state": {},
            },
        ],
    }


async def test_a_deleted_layer_keeps_no_state_and_stays_closed():
    compositor = counter_and_reader()
    async with compositor.enter() as run:
        run.set_exit_intents(default="suspend", layers={"counter": "delete"})
    assert run.slots["counter"].lifecycle_state == "closed"
    assert run.session_snapshot.layers[0].runtime_state == {}
    with pytest.raises(LayerLifecycleError, match="Layer 'counter' is closed"):
        async with compositor.enter(session_snapshot=run.session_snapshot):
            pytest.fail("a closed layer must not be entered")


async def test_layers_are_deleted_unless_somebody_asks_for_their_state():
    async with counter_and_reader().enter() as run:
        assert [slot.lifecycle_state for slot in run.slots.values()] == ["active", "active"]
    assert [slot.lifecycle_state for slot in run.slots.values()] == ["closed", "closed"]


async def test_there_is_no_snapshot_before_the_run_is_left():
    async with counter_and_reader().enter() as run:
        with pytest.raises(
            LayerLifecycleError, match="only after the layers of the run have been left"
        ):
            _ = run.session_snapshot


async def test_exit_intents_for_unknown_layers_are_refused():
    async with counter_and_reader().enter() as run:
        with pytest.raises(CompositionError, match="no layer is named 'nobody'"):
            run.set_exit_intents(default="suspend", layers={"nobody": "delete"})


@pytest.mark.parametrize(
    "layers",
    [
        (),
        (
            LayerSessionSnapshot(name="reader", type_id="test.reader", lifecycle_state="suspended"),
            LayerSessionSnapshot(
                name="counter", type_id="test.counter", lifecycle_state="suspended"
            ),
        ),
        (
            LayerSessionSnapshot(name="counter", type_id="other", lifecycle_state="suspended"),
            LayerSessionSnapshot(name="reader", type_id="test.reader", lifecycle_state="suspended"),
        ),
    ],
)
async def test_a_snapshot_of_other_layers_is_refused(layers):
    snapshot = CompositorSessionSnapshot(layers=layers)
    with pytest.raises(SnapshotError, match="must hold the layers"):
        async with counter_and_reader().enter(session_snapshot=snapshot):
            pytest.fail("entered with a foreign snapshot")


async def test_a_state_that_cannot_be_read_is_refused_without_quoting_it():
    snapshot = CompositorSessionSnapshot(
        layers=(
            LayerSessionSnapshot(
                name="counter",
                type_id="test.counter",
                lifecycle_state="suspended",
                runtime_state={"value": "sesame"},
            ),
            LayerSessionSnapshot(name="reader", type_id="test.reader", lifecycle_state="suspended"),
        )
    )
    with pytest.raises(SnapshotError) as caught:
        async with counter_and_reader().enter(session_snapshot=snapshot):
            pytest.fail("entered with a broken state")
    assert str(caught.value) == "The session snapshot's state of layer 'counter' cannot be read."


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            [LayerNode(name="a", provider=COUNTER), LayerNode(name="a", provider=COUNTER)],
            "Layer name 'a' is used twice.",
        ),
        (
            [LayerNode(name="r", provider=READER)],
            "Layer 'r' needs the dependencies ['counter'], got [].",
        ),
        (
            [LayerNode(name="c", provider=COUNTER, deps={"x": "y"})],
            "Layer 'c' needs the dependencies [], got ['x'].",
        ),
        (
            [
                LayerNode(name="r", provider=READER, deps={"counter": "c"}),
                LayerNode(name="c", provider=COUNTER),
            ],
            "Layer 'r' needs 'c' as its 'counter', but no earlier layer has this name.",
        ),
        (
            [
                LayerNode(name="c", provider=COUNTER),
                LayerNode(name="r", provider=READER, deps={"counter": "c"}),
                LayerNode(name="s", provider=READER, deps={"counter": "r"}),
            ],
            "Layer 's' needs a CounterLayer as its 'counter', but 'r' is a ReaderLayer.",
        ),
    ],
)
async def test_a_graph_whose_names_or_dependencies_do_not_fit_is_refused(nodes, message):
    with pytest.raises(CompositionError, match=f"^{re.escape(message)}$"):
        Compositor(nodes)


async def test_configurations_for_unknown_layers_are_refused():
    with pytest.raises(CompositionError, match="no layer is named 'nobody'"):
        counter_and_reader().validate_configs({"nobody": {}})


async def test_an_invalid_configuration_is_refused_by_field_without_quoting_it():
    with pytest.raises(CompositionError) as caught:
        counter_and_reader().validate_configs({"counter": {"step": "hunter2"}})
    assert str(caught.value) == (
        "Layer type 'test.counter' got an invalid config: step: Input should be a valid integer,"
        " unable to parse string as an integer"
    )


@pytest.mark.parametrize(
    ("config", "place"),
    [({"span": [0]}, "span.1: Field required"), ({"names": {1: 0}}, "names.1: ")],
)
async def test_the_place_of_a_problem_is_told_in_any_kind_of_collection(config, place):
    with pytest.raises(CompositionError, match=f"config: {place}"):
        counter_and_reader().validate_configs({"counter": config})


async def test_a_configuration_of_another_layer_is_refused():
    class Other(LayerConfig):
        pass

    with pytest.raises(CompositionError, match=r"config: expected an object$"):
        COUNTER.create(Other())


async def test_a_factory_must_make_the_layer_that_it_says():
    provider = LayerProvider.from_factory(CounterLayer, lambda _: object())  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match=r"'test\.counter' must return CounterLayer, got object"):
        provider.create({})


async def test_a_factory_must_make_a_fresh_layer_each_time():
    layer = CounterLayer(CounterConfig())
    provider = LayerProvider.from_factory(CounterLayer, lambda _: layer)
    compositor = Compositor([LayerNode(name="counter", provider=provider)])
    async with compositor.enter():
        pass
    with pytest.raises(LayerLifecycleError, match="must return a fresh instance each time"):
        async with compositor.enter():
            pytest.fail("a layer was used twice")


async def test_dependencies_cannot_be_exchanged():
    deps = ReaderDeps(counter=CounterLayer(CounterConfig()))
    with pytest.raises(AttributeError):
        deps.counter = CounterLayer(CounterConfig())  # type: ignore[misc]


async def test_a_graph_of_no_layers_can_be_entered():
    async with Compositor([]).enter() as run:
        assert dict(run.slots) == {}
    assert run.session_snapshot == CompositorSessionSnapshot()

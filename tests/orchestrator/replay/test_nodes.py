"""Simulated nodes hold cores, GPUs and isolation as real ones."""

from __future__ import annotations

from orchestrator.machine import Machine, Node
from orchestrator.replay.nodes import Nodes
from orchestrator.trainable import Demand
from orchestrator.trial import Isolation
from tests.orchestrator.replay.made_runs import made_launch, made_trial

LAUNCH = made_launch(made_trial())
ALONE = made_launch(made_trial(), isolation=Isolation.EXCLUSIVE)


def nodes(*cpus: int, gpus: int = 0, most: int | None = None) -> Nodes:
    made = [Node(name=f"n{index}", cpus=count, gpus=gpus) for index, count in enumerate(cpus)]
    return Nodes(Machine(nodes=tuple(made)), most)


def test_launches_fill_one_node_after_the_other() -> None:
    cluster = nodes(4, 2)
    places = [cluster.place(LAUNCH) for _ in range(4)]
    assert [place and place.node for place in places] == ["n0", "n0", "n1", None]


def test_released_cores_are_free_again() -> None:
    cluster = nodes(2)
    place = cluster.place(LAUNCH)
    assert place is not None
    assert not cluster.may_take(2)
    cluster.release(place)
    assert cluster.is_idle
    assert cluster.may_take(2)


def test_an_isolated_launch_waits_for_an_empty_node_and_keeps_others_out() -> None:
    cluster = nodes(8)
    first = cluster.place(LAUNCH)
    assert first is not None
    assert cluster.place(ALONE) is None
    cluster.release(first)
    assert cluster.place(ALONE) is not None
    assert cluster.place(LAUNCH) is None
    assert not cluster.may_take(2)


def test_gpus_are_held_too() -> None:
    cluster = nodes(8, gpus=1)
    launch = made_launch(made_trial(), demand=Demand(gpus=1))
    assert cluster.place(launch) is not None
    assert cluster.place(launch) is None


def test_ranks_span_nodes_only_where_one_has_no_room() -> None:
    launch = made_launch(made_trial(), demand=Demand(ranks=2), num_cores=4)
    spread = nodes(2, 2).place(launch)
    assert spread is not None
    assert [part.room.node.name for part in spread.parts] == ["n0", "n1"]
    whole = nodes(2, 4).place(launch)
    assert whole is not None
    assert [part.room.node.name for part in whole.parts] == ["n1"]
    assert nodes(2, 1).place(launch) is None


def test_no_more_than_asked_for_at_the_same_time() -> None:
    cluster = nodes(8, most=1)
    assert cluster.place(LAUNCH) is not None
    assert not cluster.may_take(2)
    assert cluster.place(LAUNCH) is None

"""Cores of a trial: as many as requested, at most the node's, with a message if that is less."""

import pytest

from orchestrator import NODE, Machine
from orchestrator.execution.placement import cap_note, cores_of_trial, machine_capacity
from orchestrator.machine import Node
from orchestrator.trainable import Demand

EIGHT = Machine(nodes=(Node(name="a", cpus=7, reserved_cpus=1),))
TWO = Machine(nodes=(Node(name="b", cpus=2),))
WITH_GPUS = Machine(nodes=(Node(name="c", cpus=15, gpus=4, reserved_cpus=1),))


@pytest.mark.parametrize(
    ("machine", "asked", "expected"),
    [(EIGHT, NODE, 7), (EIGHT, 3, 3), (EIGHT, 8, 7), (TWO, NODE, 2), (WITH_GPUS, NODE, 3)],
)
def test_cores_of_a_trial(machine: Machine, asked: int, expected: int) -> None:
    assert cores_of_trial(asked, machine) == expected


def test_a_message_names_cores_asked_for_that_the_node_does_not_have() -> None:
    assert cap_note(8, EIGHT) == (
        "8 cores a trial are asked for: every trial gets the whole node, 7 cores, "
        "1 more kept for the driver and Ray"
    )
    assert cap_note(3, TWO).endswith("every trial gets the whole node, 2 cores")
    assert cap_note(7, EIGHT) == ""
    assert cap_note(NODE, EIGHT) == ""


@pytest.mark.parametrize(
    ("machine", "cores", "gpus", "expected"),
    [(EIGHT, 2, 0, 3), (TWO, 4, 0, 1), (WITH_GPUS, 3, 1, 4), (WITH_GPUS, 3, 2, 2),
     (WITH_GPUS, 1, 0.25, 15), (WITH_GPUS, 1, 0.4, 8)],
)  # fmt: skip
def test_a_machine_has_room_for_as_many_trials_as_its_cores_and_gpus(
    machine: Machine, cores: int, gpus: float, expected: int
) -> None:
    assert machine_capacity(cores, machine, Demand(gpus=gpus)) == expected


@pytest.mark.parametrize(
    ("cpus", "nodes", "expected"),
    [((2, 2, 2), 2, 3), ((4, 1, 1), 2, 2), ((4, 1), 2, 1), ((2, 2), 3, 1), ((4, 4, 4), 3, 4)],
)
def test_a_trial_of_several_nodes_takes_a_part_of_each(
    cpus: tuple[int, ...], nodes: int, expected: int
) -> None:
    machine = Machine(nodes=tuple(Node(name=f"n{each}", cpus=each) for each in cpus))
    assert machine_capacity(1, machine, Demand(ranks=nodes, nodes=nodes)) == expected

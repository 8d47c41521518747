"""Constraints: a reason, or a message that names the constraint's place."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import SweepFileError
from orchestrator.machine import Constraint, Machine, Node, objection, requires

MACHINE = Machine(nodes=(Node(name="a", cpus=2),))


def test_a_condition_gives_its_reason_where_it_does_not_hold() -> None:
    small: Constraint[int] = requires(lambda config: config < 3, "too large")
    assert objection(small, 2, MACHINE) is None
    assert objection(small, 3, MACHINE) == "too large"


def test_a_constraint_that_raises_is_named_with_its_line_and_the_config() -> None:
    def broken(config: Any, _machine: Machine) -> str | None:  # noqa: ANN401
        return str(config["absent"])

    with pytest.raises(SweepFileError, match="a constraint raised KeyError") as refused:
        objection(broken, {}, MACHINE)
    assert "test_machine.py:" in refused.value.message
    assert refused.value.hint == "for {}"


def test_a_constraint_that_returns_a_truth_value_is_refused() -> None:
    def confused(_config: object, _machine: Machine) -> Any:  # noqa: ANN401
        return True

    with pytest.raises(SweepFileError, match="a constraint returned True"):
        objection(confused, 0, MACHINE)

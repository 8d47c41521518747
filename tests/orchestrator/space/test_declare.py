"""Declaration of knobs: inherited, declared again, refused where they cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import KnobError
from orchestrator.space.configs import knobs_of
from orchestrator.space.declare import both, knobs, systems
from orchestrator.space.knob import Role
from tests.orchestrator.space.declared import Config, Loader, Process


def test_knobs_are_inherited_and_declared_again_in_place() -> None:
    known = knobs_of(Config)

    assert list(known) == [
        "workers", "prefetch", "persistent", "amp", "threads", "lr", "name", "fanouts"
    ]  # fmt: skip
    assert (known["prefetch"].default, knobs_of(Loader)["prefetch"].default) == (4, 2)
    assert known["amp"].role is Role.BOTH
    assert known["threads"].unit == "threads"


def test_of_two_bases_the_one_that_python_would_ask_first_wins() -> None:
    @knobs
    class Base:
        x: int = systems(default=1, doc="x")

    @knobs
    class Left(Base):
        y: int = systems(default=0, doc="y")

    @knobs
    class Right(Base):
        x: int = systems(default=2, doc="x again")

    @knobs
    class Both(Left, Right):
        pass

    assert Both().x == 2  # the method resolution order is Both, Left, Right, Base


def test_a_subclass_must_be_decorated_too() -> None:
    class Forgotten(Process):
        extra: int = systems(default=1, doc="never seen")

    with pytest.raises(TypeError, match="Forgotten must be decorated with @knobs"):
        Forgotten()


@pytest.mark.parametrize(
    ("kind", "declared", "message"),
    [
        (int, 3, r"Bad.x must be declared with learning\(\), systems\(\)"),
        (list[int], both(default=[1], doc="x"), r"Bad\.x: the type of a knob must be one of int"),
        (int, both(default=0, ge=1, doc="x"), r"Bad\.x: default 0 is not allowed"),
        (float, both(default=0.5, doc=3), r"Bad\.x: doc = 3 is not allowed"),  # type: ignore[arg-type]
        (None, both(default=0.5, doc="x"), r"Bad\.x: has no type\n  write x: float = \.\.\."),
    ],
)
def test_what_no_knob_can_be_is_refused(
    kind: Any,  # noqa: ANN401 - any type
    declared: object,
    message: str,
) -> None:
    annotations = {} if kind is None else {"x": kind}
    with pytest.raises((TypeError, KnobError), match=message):
        knobs(type("Bad", (), {"x": declared, "__annotations__": annotations}))

"""Declaration of knobs: inherited, declared again, refused where they cannot be."""

from __future__ import annotations

from typing import ClassVar, Literal

import pytest

from orchestrator.errors import KnobError
from orchestrator.space.configs import knobs_of, values_of
from orchestrator.space.declare import both, knobs, make_config_class, systems
from orchestrator.space.knob import Knob, Role
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


def test_methods_and_class_variables_are_no_knobs() -> None:
    @knobs
    class Sized:
        LIMIT: ClassVar[int] = 7
        width: int = both(default=3, doc="width")

        def area(self) -> int:
            return self.width * self.LIMIT

    assert Sized(width=2).area() == 14
    assert list(knobs_of(Sized)) == ["width"]


def test_a_field_that_is_no_knob_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Bad.x must be declared with learning\(\), systems\(\)"):

        @knobs
        class Bad:
            x: int = 3


def test_a_type_that_no_knob_has_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Bad\.x: the type of a knob must be one of int, float"):

        @knobs
        class Bad:
            x: list[int] = both(default=[1], doc="x")


def test_a_default_outside_its_own_range_is_refused() -> None:
    with pytest.raises(KnobError, match=r"Bad\.x: default 0 is not allowed"):

        @knobs
        class Bad:
            x: int = both(default=0, ge=1, doc="x")


def test_a_knob_without_a_type_is_refused() -> None:
    with pytest.raises(KnobError, match=r"Bad\.x: has no type\n  write x: float = \.\.\."):

        @knobs
        class Bad:
            x = both(default=0.5, doc="Python takes it for no field")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (Knob(role=Role.BOTH, default=0.5, type=float, gt=float("nan"), doc="x"), "gt = nan"),
        (Knob(role=Role.BOTH, default="a", type=str, ge=0, doc="x"), "ge is of numbers"),
        (Knob(role=Role.BOTH, default="a", type=Literal["a"], lt=3, doc="x"), "lt is of numbers"),
        (Knob(role=Role.BOTH, default=True, type=bool, le=1, doc="x"), "le is of numbers"),
    ],
)
def test_a_range_that_would_hold_nothing_back_is_refused(spec: Knob, said: str) -> None:
    with pytest.raises(KnobError, match=rf"Bad\.x: {said}"):
        make_config_class("Bad", {"x": spec})


def test_a_subclass_must_be_decorated_too() -> None:
    class Forgotten(Process):
        extra: int = systems(default=1, doc="never seen")

    with pytest.raises(TypeError, match="Forgotten must be decorated with @knobs"):
        Forgotten()


def test_a_config_class_from_plain_defaults() -> None:
    config_class = make_config_class("Plain", {"lr": 0.1, "width": 64, "relu": True, "opt": "sgd"})

    assert values_of(config_class(width=32)) == {"lr": 0.1, "width": 32, "relu": True, "opt": "sgd"}
    assert {knob.role for knob in knobs_of(config_class).values()} == {Role.BOTH}
    with pytest.raises(KnobError, match=r"Plain\.width = 'a' is not allowed"):
        config_class(width="a")
    with pytest.raises(TypeError, match=r"Plain: layers = \[1\] must be a bool, int, float or str"):
        make_config_class("Plain", {"layers": [1]})


@pytest.mark.parametrize("base", [int, dict, tuple, Exception])
def test_a_config_class_is_no_kind_of_a_built_in_one(base: type) -> None:
    with pytest.raises(TypeError, match=f"cannot be a kind of {base.__name__}"):
        knobs(type("Own", (base,), {}))


@pytest.mark.parametrize("options", [(1, "1"), (True, 1), (True, "True"), ("false", False)])
def test_options_that_a_table_shows_alike_are_refused(options: tuple[object, ...]) -> None:
    kind, first = Literal[options], options[0]
    with pytest.raises(KnobError, match="or are written alike in a table"):
        make_config_class("Own", {"x": Knob(role=Role.BOTH, default=first, doc="x", type=kind)})


@pytest.mark.parametrize("option", [2**70, None, b"x", Role.BOTH, "x" * 9000, "\x1b[2J"])
def test_an_option_that_no_table_holds_is_refused(option: object) -> None:
    with pytest.raises(KnobError, match="allowed: ints of 64 bits"):
        make_config_class(
            "Huge", {"lr": Knob(role=Role.BOTH, default=1, doc="x", type=Literal[(1, option)])}
        )

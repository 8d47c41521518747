"""Knobs: declared, inherited, their values taken as their own type or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from orchestrator.errors import KnobError
from orchestrator.space.configs import domains_of, knobs_of
from orchestrator.space.declare import both, knobs, systems
from orchestrator.space.domains import Choice, choice, integers, uniform
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


@pytest.mark.parametrize(
    ("given_value", "message", "allowed"),
    [
        ({"workers": -1}, "Config.workers = -1 is not allowed", "an int >= 0 and <= 64"),
        ({"workers": True}, "Config.workers = True is not allowed", "an int"),
        ({"lr": 0}, "Config.lr = 0 is not allowed", "a float > 0 and < 10"),
        ({"lr": float("nan")}, "Config.lr = nan is not allowed", "a float"),
        ({"lr": 10**400}, "is not allowed", "a float"),
        ({"persistent": 1}, "Config.persistent = 1 is not allowed", "one of False, True"),
        (
            {"amp": "bf61"},
            "Config.amp = 'bf61' is not allowed; did you mean 'bf16'?",
            "one of 'off', 'bf16'",
        ),
        ({"name": 3}, "Config.name = 3 is not allowed", "a str"),
        ({"fanouts": (5, 0)}, "Config.fanouts = (5, 0) is not allowed", "each >= 1"),
        (
            {"wokers": 3},
            "'wokers' is not a knob of Config; did you mean 'workers'?",
            "workers, pre",
        ),
        (
            {"lr": uniform(0.0, 1.0)},
            "Config.lr: 0.0 in uniform(0, 1) is not allowed",
            "a float > 0",
        ),
        ({"lr": integers(1, 3)}, "Config.lr: it takes uniform() or loguniform(), not int", "float"),
        ({"lr": choice()}, "Config.lr: choice() of no values leaves nothing to vary", "a float"),
        ({"workers": uniform(1, 8)}, "Config.workers: it takes integers(low, high), not", "an int"),
        ({"workers": choice(0, "a")}, "Config.workers: 'a' in choice(0, 'a') is not", "an int"),
        ({"amp": uniform(0, 1)}, "Config.amp: it takes choice(...), not uniform(0, 1)", "one of"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_allowed(
    given_value: dict[str, Any], message: str, allowed: str
) -> None:
    with pytest.raises(KnobError) as refused:
        Config(**given_value)

    assert message in refused.value.message
    assert allowed in refused.value.hint


def test_numpy_scalars_become_plain_values() -> None:
    config = Config(
        workers=np.int64(3), lr=np.float32(0.5), persistent=np.bool_(True), name=np.str_("sgd")  # type: ignore[arg-type]
    )  # fmt: skip

    kinds = [type(value) for value in (config.workers, config.lr, config.persistent, config.name)]
    assert kinds == [int, float, bool, str]
    assert domains_of(Config(workers=choice(*np.arange(3)))) == {"workers": Choice((0, 1, 2))}
    assert domains_of(Config(lr=choice(*np.linspace(0.5, 1, 2)))) == {"lr": Choice((0.5, 1.0))}
    with pytest.raises(KnobError, match="is not allowed"):
        Config(workers=np.float64(3))  # type: ignore[arg-type]
    with pytest.raises(KnobError, match="is not allowed"):
        Config(lr=np.array([0.1, 0.2]))  # type: ignore[arg-type]

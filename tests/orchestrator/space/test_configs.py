"""Knobs and configs: declared, inherited, taken or refused; canonical; read from a command line."""

import copy
import pickle
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import KnobError, Problems
from orchestrator.space.configs import (
    both,
    canonical,
    domains_of,
    format_setting,
    knobs,
    knobs_of,
    learning,
    parse_setting,
    systems,
    values_of,
)
from orchestrator.space.domains import Choice, choice, integers, uniform
from orchestrator.space.knob import Role
from orchestrator.texts import bounded


@knobs
class Loader:
    """A group of knobs to derive from."""

    workers: int = systems(default=0, ge=0, le=64, doc="loader processes")
    prefetch: int = systems(default=2, ge=1, doc="ahead", applies=lambda c: c.workers > 0)
    persistent: bool = systems(default=False, doc="kept", applies=lambda c: c.workers > 0)


@knobs
class Process:
    """Another group."""

    amp: Literal["off", "bf16"] = both(default="off", doc="precision")
    threads: int = systems(default=0, ge=0, unit="threads", doc="threads")


@knobs
class Config(Process, Loader):
    """Config of an imagined trainable."""

    lr: float = learning(default=0.1, gt=0, lt=10, doc="step size")
    name: str = both(default="adam", doc="optimizer")
    fanouts: tuple[int, ...] = both(default=(10, 25), ge=1, doc="neighbours")
    prefetch: int = systems(default=4, ge=1, doc="more", applies=lambda c: c.workers > 0)


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
        ({"workers": [1, 4]}, "= [1, 4] is not allowed; did you mean choice(1, 4)?", "an int >= 0"),
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


def test_a_config_has_every_default_and_the_values_given() -> None:
    config = Config(lr=1, workers=3, fanouts=(5,))

    assert values_of(config) == {
        "workers": 3, "prefetch": 4, "persistent": False, "amp": "off", "threads": 0,
        "lr": 1.0, "name": "adam", "fanouts": (5,),
    }  # fmt: skip
    assert type(config.lr) is float
    assert repr(config) == "Config(workers=3, lr=1.0, fanouts=(5,))"


def test_a_config_is_frozen_hashable_and_compared_by_value() -> None:
    config = Config(lr=0.5)

    with pytest.raises(AttributeError, match="Config is frozen: cannot set 'lr'"):
        config.lr = 0.2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del config.lr
    assert {config: 1}[Config(lr=0.5)] == 1
    assert config != Config(lr=0.4)
    assert Process() != Loader()  # type: ignore[comparison-overlap]
    assert copy.deepcopy(config) == pickle.loads(pickle.dumps(config)) == config


def test_the_message_names_the_line_of_the_bad_argument() -> None:
    with pytest.raises(Problems) as refused:
        Config(
            workers=choice(0, 3),
            wokers=3,  # type: ignore[call-arg]
            lr=-1.0,
        )

    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "wokers=3,  # type" in text)
    places = [problem.message.partition(": ")[0] for problem in refused.value.problems]
    assert [place.rpartition(":")[2] for place in places] == [str(line), str(line + 1)]
    assert all("test_configs.py:" in place for place in places)


@knobs
class Chain:
    """Conditions on conditions, declared in the unhelpful order."""

    third: int = systems(default=0, doc="needs second", applies=lambda c: c.second > 0)
    not_second: int = systems(default=0, doc="needs no second", applies=lambda c: c.second == 0)
    second: int = systems(default=0, doc="needs first", applies=lambda c: c.first)
    first: bool = systems(default=False, doc="the switch")


chains = st.builds(
    Chain,
    first=st.booleans(),
    second=st.integers(0, 2),
    third=st.integers(0, 2),
    not_second=st.integers(0, 2),
)


@settings(deadline=None)
@given(chains)
def test_canonical_is_idempotent_and_changes_idle_knobs_alone(config: Chain) -> None:
    settled = canonical(config)

    assert canonical(settled) == settled
    for name, knob in knobs_of(Chain).items():
        value = values_of(settled)[name]
        applies = knob.applies is None or knob.applies(settled)
        assert value == (values_of(config)[name] if applies else knob.default)


@settings(deadline=None)
@given(chains, chains)
def test_configs_that_differ_in_idle_knobs_alone_are_merged(one: Chain, other: Chain) -> None:
    def read(config: Chain) -> dict[str, Any]:
        """Values that a training loop would read of the config."""
        seen: dict[str, Any] = {"first": config.first}
        second = config.second if config.first else 0
        seen["second"] = second
        seen["third"] = config.third if second > 0 else 0
        seen["not_second"] = config.not_second if second == 0 else 0
        return seen

    assert (canonical(one) == canonical(other)) == (read(one) == read(other))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("workers=3", ("workers", 3)),
        ("lr=1e-3", ("lr", 1e-3)),
        ("persistent=true", ("persistent", True)),
        ("amp=bf16", ("amp", "bf16")),
        ("fanouts=10,25", ("fanouts", (10, 25))),
        ("fanouts=(5,)", ("fanouts", (5,))),
    ],
)
def test_a_setting_is_parsed(text: str, parsed: tuple[str, Any]) -> None:
    assert parse_setting(Config, text) == parsed
    assert type(parse_setting(Config, text)[1]) is type(parsed[1])


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("lr=nan", "--set lr=nan: 'nan' is not allowed for lr", "allowed: a float > 0 and < 10"),
        ("workers=1.5", "'1.5' is not allowed for workers", "an int >= 0"),
        ("workers", "--set workers: expected KNOB=VALUE", "knobs: workers, prefetch"),
        ("wokers=3", "'wokers' is not a knob of Config; did you mean 'workers'?", "knobs: workers"),
        ("amp=bf61", "'bf61' is not allowed for amp; did you mean 'bf16'?", "one of 'off', 'bf16'"),
        ("persistent=yes", "'yes' is not allowed for persistent", "one of False, True"),
        ("fanouts=10,x", "'10,x' is not allowed for fanouts", "a tuple of int"),
    ],
)
def test_a_bad_setting_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(KnobError) as refused:
        parse_setting(Config, text)

    assert message in refused.value.message
    assert hint in refused.value.hint


@settings(deadline=None)
@given(
    st.builds(
        Config,
        workers=st.integers(0, 64),
        lr=st.floats(0, 10, exclude_min=True, exclude_max=True),
        persistent=st.booleans(),
        amp=st.sampled_from(["off", "bf16"]),
        name=st.text(max_size=1000).map(bounded).filter(lambda text: len(text) <= 1000),
        fanouts=st.lists(st.integers(1, 2**63 - 1), min_size=1).map(tuple),
    )
)
def test_values_are_parsed_as_they_are_formatted(config: Config) -> None:
    for name, value in values_of(config).items():
        assert parse_setting(Config, format_setting(name, value)) == (name, value)

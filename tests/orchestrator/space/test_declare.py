"""Knobs: declared, checked, inherited, canonical, parsed from a command line."""

from __future__ import annotations

import copy
import itertools
import pickle
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import KnobError, Problems, SweepError
from orchestrator.space.declare import (
    Role,
    both,
    canonical,
    choice,
    collecting_problems,
    domains_of,
    idle_knobs,
    integers,
    knobs,
    knobs_of,
    learning,
    loguniform,
    make_config_class,
    parse_setting,
    replaced,
    setting,
    systems,
    uniform,
    values_of,
)
from orchestrator.space.domains import Choice, Interval


@knobs
class Loader:
    """A group of knobs, for others to derive from."""

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
    """What a trainable would have."""

    lr: float = learning(default=0.1, gt=0, lt=10, doc="step size")
    name: str = both(default="adam", doc="optimizer")
    fanouts: tuple[int, ...] = both(default=(10, 25), ge=1, doc="neighbours")
    prefetch: int = systems(default=4, ge=1, doc="more", applies=lambda c: c.workers > 0)


def test_a_config_has_every_default_and_the_values_given() -> None:
    config = Config(lr=1, workers=3, fanouts=(5,))

    assert values_of(config) == {
        "workers": 3, "prefetch": 4, "persistent": False, "amp": "off", "threads": 0,
        "lr": 1.0, "name": "adam", "fanouts": (5,),
    }  # fmt: skip
    assert type(config.lr) is float
    assert repr(config) == "Config(workers=3, lr=1.0, fanouts=(5,))"


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


def test_an_unknown_attribute_names_the_nearest_knob() -> None:
    with pytest.raises(AttributeError, match="Config has no knob 'worker'; did you mean 'workers'"):
        _ = Config().worker  # type: ignore[attr-defined]


def test_methods_and_class_variables_are_no_knobs() -> None:
    @knobs
    class Sized:
        LIMIT: ClassVar[int] = 7
        width: int = both(default=3, doc="width")

        def area(self) -> int:
            return self.width * self.LIMIT

    assert Sized(width=2).area() == 14
    assert list(knobs_of(Sized)) == ["width"]


# -- what is refused


@pytest.mark.parametrize(
    ("given_value", "message", "allowed"),
    [
        ({"workers": -1}, "Config.workers = -1 is not allowed", "an int >= 0 and <= 64"),
        ({"workers": 65}, "Config.workers = 65 is not allowed", "an int >= 0 and <= 64"),
        ({"workers": 3.0}, "Config.workers = 3.0 is not allowed", "an int"),
        ({"workers": True}, "Config.workers = True is not allowed", "an int"),
        ({"workers": "3"}, "Config.workers = '3' is not allowed", "an int"),
        ({"lr": 0}, "Config.lr = 0 is not allowed", "a float > 0 and < 10"),
        ({"lr": 10.0}, "Config.lr = 10.0 is not allowed", "a float > 0 and < 10"),
        ({"lr": float("nan")}, "Config.lr = nan is not allowed", "a float"),
        ({"lr": float("inf")}, "Config.lr = inf is not allowed", "a float"),
        ({"lr": 10**400}, "is not allowed", "a float"),
        ({"persistent": 1}, "Config.persistent = 1 is not allowed", "one of False, True"),
        (
            {"amp": "bf61"},
            "Config.amp = 'bf61' is not allowed; did you mean 'bf16'?",
            "one of 'off', 'bf16'",
        ),
        ({"name": 3}, "Config.name = 3 is not allowed", "a str"),
        ({"fanouts": ()}, "Config.fanouts = () is not allowed", "a tuple of int each >= 1"),
        ({"fanouts": (5, 0)}, "Config.fanouts = (5, 0) is not allowed", "each >= 1"),
        ({"fanouts": 5}, "Config.fanouts = 5 is not allowed", "a tuple of int"),
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
        ({"lr": loguniform(0.1, 0.01)}, "`low <= high` must hold, but got (low=0.1", "a float"),
        ({"workers": uniform(1, 8)}, "Config.workers: it takes integers(low, high), not", "an int"),
        ({"workers": choice(0, "a")}, "Config.workers: 'a' in choice(0, 'a') is not", "an int"),
        ({"workers": integers(0, 99)}, "Config.workers: 99 in integers(0, 99) is not", "<= 64"),
        ({"amp": uniform(0, 1)}, "Config.amp: it takes choice(...), not uniform(0, 1)", "one of"),
        ({"fanouts": choice((5,), (0,))}, "Config.fanouts: (0,) in choice((5,), (0,))", "each"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_allowed(
    given_value: dict[str, Any], message: str, allowed: str
) -> None:
    with pytest.raises(KnobError) as refused:
        Config(**given_value)

    assert message in refused.value.message
    assert allowed in refused.value.hint


def test_the_message_names_the_line_of_the_bad_argument() -> None:
    with pytest.raises(Problems) as refused:
        Config(
            workers=choice(0, 3),
            wokers=3,  # type: ignore[call-arg]
            lr=-1.0,
        )

    line = _line_of("wokers=3,  # type")
    places = [problem.message.partition(": ")[0] for problem in refused.value.problems]
    assert places == [f"{_this_file()}:{line}", f"{_this_file()}:{line + 1}"]


def _this_file() -> str:
    path = Path(__file__)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_all_problems_can_be_collected() -> None:
    with collecting_problems() as problems:
        config = Config(workers=-1, lr=0.0, threads=2)
        Loader(prefetch=0)

    assert [type(problem) for problem in problems] == [KnobError, KnobError, KnobError]
    assert (config.workers, config.lr, config.threads) == (0, 0.1, 2)
    with pytest.raises(SweepError):
        Loader(prefetch=0)


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


def test_a_subclass_must_be_decorated_too() -> None:
    class Forgotten(Process):
        extra: int = systems(default=1, doc="never seen")

    with pytest.raises(TypeError, match="Forgotten must be decorated with @knobs"):
        Forgotten()


# -- domains and foreign values


def test_a_space_holds_domains_of_the_knobs_own_type() -> None:
    space = Config(lr=uniform(1, 2), workers=choice(0, 3), fanouts=choice([5, 10], (3,)))  # type: ignore[arg-type]

    assert domains_of(space) == {
        "workers": Choice((0, 3)), "lr": Interval(1.0, 2.0), "fanouts": Choice(((5, 10), (3,)))
    }  # fmt: skip
    low = domains_of(space)["lr"].bounds()[0]
    assert type(low) is float


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


def test_ray_tune_domains_are_taken_and_checked() -> None:
    from ray import tune

    space = Config(
        workers=tune.choice([0, 3]),
        lr=tune.loguniform(1e-3, 1),
        prefetch=tune.randint(1, 9),
        threads=tune.grid_search([1, 2]),  # type: ignore[arg-type]
    )

    assert domains_of(space) == {
        "workers": Choice((0, 3)),
        "prefetch": Interval(1, 8, integer=True),
        "threads": Choice((1, 2)),
        "lr": Interval(1e-3, 1, log=True),
    }
    with pytest.raises(KnobError, match=r"Config.lr: Ray Tune's .* has no counterpart"):
        Config(lr=tune.randn(0, 1))
    with pytest.raises(KnobError, match=r"-1 in choice\(-1, 3\) is not allowed"):
        Config(workers=tune.choice([-1, 3]))


def test_a_config_class_from_plain_defaults() -> None:
    config_class = make_config_class("Plain", {"lr": 0.1, "width": 64, "relu": True, "opt": "sgd"})

    assert values_of(config_class(width=32)) == {"lr": 0.1, "width": 32, "relu": True, "opt": "sgd"}
    assert {knob.role for knob in knobs_of(config_class).values()} == {Role.BOTH}
    with pytest.raises(KnobError, match=r"Plain\.width = 'a' is not allowed"):
        config_class(width="a")
    with pytest.raises(TypeError, match=r"Plain: layers = \[1\] must be a bool, int, float or str"):
        make_config_class("Plain", {"layers": [1]})


# -- canonical configs


@knobs
class Chain:
    """Conditions on conditions, declared in the unhelpful order."""

    third: int = systems(default=0, doc="needs second", applies=lambda c: c.second > 0)
    not_second: int = systems(default=0, doc="needs no second", applies=lambda c: c.second == 0)
    second: int = systems(default=0, doc="needs first", applies=lambda c: c.first)
    first: bool = systems(default=False, doc="the switch")


def test_a_knob_without_effect_has_its_default() -> None:
    assert canonical(Config(prefetch=8, persistent=True)) == Config()
    assert canonical(Config(workers=2, prefetch=8)) == Config(workers=2, prefetch=8)


def test_conditions_are_asked_of_canonical_values() -> None:
    # second is idle without first, so it does not stand in the way of not_second.
    config = Chain(first=False, second=5, third=7, not_second=9)

    assert canonical(config) == Chain(not_second=9)
    assert canonical(replaced(config, {"first": True})) == Chain(first=True, second=5, third=7)


def test_idle_knobs_are_those_that_have_no_effect() -> None:
    assert set(idle_knobs(Config())) == {"prefetch", "persistent"}
    assert idle_knobs(Config(workers=2)) == ()
    assert set(idle_knobs(Chain(first=False))) == {"second", "third"}


def test_conditions_in_a_circle_come_to_an_end() -> None:
    @knobs
    class Circle:
        a: bool = systems(default=False, doc="a", applies=lambda c: c.b)
        b: bool = systems(default=False, doc="b", applies=lambda c: c.a)

    assert canonical(Circle(a=True, b=True)) == Circle(a=True, b=True)
    assert canonical(Circle(a=True)) == Circle()


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
    found = canonical(config)

    assert canonical(found) == found
    for name, knob in knobs_of(Chain).items():
        value = values_of(found)[name]
        applies = knob.applies is None or knob.applies(found)
        assert value == (values_of(config)[name] if applies else knob.default)


@settings(deadline=None)
@given(chains, chains)
def test_configs_that_differ_in_idle_knobs_alone_are_merged(one: Chain, other: Chain) -> None:
    def said(config: Chain) -> dict[str, Any]:
        """What a training loop would read of the config."""
        seen: dict[str, Any] = {"first": config.first}
        second = config.second if config.first else 0
        seen["second"] = second
        seen["third"] = config.third if second > 0 else 0
        seen["not_second"] = config.not_second if second == 0 else 0
        return seen

    assert (canonical(one) == canonical(other)) == (said(one) == said(other))


def test_a_product_is_merged_to_what_differs() -> None:
    configs = [
        Loader(workers=w, prefetch=p, persistent=k)
        for w, p, k in itertools.product((0, 3, 6), (2, 4), (False, True))
    ]

    assert len({canonical(config) for config in configs}) == 1 + 2 * 4


# -- settings on a command line


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("workers=3", ("workers", 3)),
        ("lr=1e-3", ("lr", 1e-3)),
        ("lr=1", ("lr", 1.0)),
        ("persistent=true", ("persistent", True)),
        ("persistent=0", ("persistent", False)),
        ("amp=bf16", ("amp", "bf16")),
        ("name=a=b", ("name", "a=b")),
        ("fanouts=10,25", ("fanouts", (10, 25))),
        ("fanouts=(5,)", ("fanouts", (5,))),
        ("fanouts=[10, 25]", ("fanouts", (10, 25))),
    ],
)
def test_a_setting_is_parsed(text: str, parsed: tuple[str, Any]) -> None:
    assert parse_setting(Config, text) == parsed
    assert type(parse_setting(Config, text)[1]) is type(parsed[1])


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("lr=nan", "--set lr=nan: 'nan' is not allowed for lr", "allowed: a float > 0 and < 10"),
        ("lr=", "'' is not allowed for lr", "a float"),
        ("lr=fast", "'fast' is not allowed for lr", "a float"),
        ("workers=1.5", "'1.5' is not allowed for workers", "an int >= 0"),
        ("workers", "--set workers: expected KNOB=VALUE", "knobs: workers, prefetch"),
        ("wokers=3", "'wokers' is not a knob of Config; did you mean 'workers'?", "knobs: workers"),
        ("amp=bf61", "'bf61' is not allowed for amp; did you mean 'bf16'?", "one of 'off', 'bf16'"),
        ("persistent=yes", "'yes' is not allowed for persistent", "one of False, True"),
        ("fanouts=10,x", "'10,x' is not allowed for fanouts", "a tuple of int"),
        ("fanouts=", "'' is not allowed for fanouts", "a tuple of int"),
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
        name=st.text(),
        fanouts=st.lists(st.integers(1), min_size=1).map(tuple),
    )
)
def test_settings_are_read_as_they_are_printed(config: Config) -> None:
    for name, value in values_of(config).items():
        assert parse_setting(Config, setting(name, value)) == (name, value)

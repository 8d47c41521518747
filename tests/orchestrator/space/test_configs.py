"""Configs: compared by value, canonical, read from a command line."""

from __future__ import annotations

import copy
import itertools
import pickle
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import KnobError, Problems, SweepError, collecting_problems
from orchestrator.space.configs import (
    canonical,
    domains_of,
    format_setting,
    idle_knobs,
    knobs_of,
    parse_setting,
    replaced,
    values_of,
)
from orchestrator.space.declare import knobs, systems
from orchestrator.space.domains import Choice, Interval, choice, uniform
from orchestrator.texts import bounded
from tests.orchestrator.space.declared import Config, Loader, Process


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


def test_an_unknown_attribute_names_the_nearest_knob() -> None:
    with pytest.raises(AttributeError, match="Config has no knob 'worker'; did you mean 'workers'"):
        _ = Config().worker  # type: ignore[attr-defined]


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


def test_a_space_holds_domains_of_the_knobs_own_type() -> None:
    space = Config(lr=uniform(1, 2), workers=choice(0, 3), fanouts=choice([5, 10], (3,)))  # type: ignore[arg-type]

    assert domains_of(space) == {
        "workers": Choice((0, 3)), "lr": Interval(1.0, 2.0), "fanouts": Choice(((5, 10), (3,)))
    }  # fmt: skip
    low = domains_of(space)["lr"].bounds()[0]
    assert type(low) is float


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
    with pytest.raises(KnobError, match=r"Config.lr: tune.sample_from has no counterpart here"):
        Config(lr=tune.sample_from(lambda _: 1.0))
    with pytest.raises(KnobError, match=r"Config.lr: -5 in normal\(0, 1\) is not allowed"):
        Config(lr=tune.randn(0, 1))
    with pytest.raises(KnobError, match=r"-1 in choice\(-1, 3\) is not allowed"):
        Config(workers=tune.choice([-1, 3]))


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


def test_a_product_is_merged_to_what_differs() -> None:
    configs = [
        Loader(workers=w, prefetch=p, persistent=k)
        for w, p, k in itertools.product((0, 3, 6), (2, 4), (False, True))
    ]

    assert len({canonical(config) for config in configs}) == 1 + 2 * 4


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
        name=st.text(max_size=1000).map(bounded).filter(lambda text: len(text) <= 1000),
        fanouts=st.lists(st.integers(1, 2**63 - 1), min_size=1).map(tuple),
    )
)
def test_values_are_parsed_as_they_are_formatted(config: Config) -> None:
    for name, value in values_of(config).items():
        assert parse_setting(Config, format_setting(name, value)) == (name, value)


@knobs
class Mixed:
    """A knob with options of several types."""

    fused: Literal[True, "auto", 2] = systems(default="auto", doc="as it says")


@pytest.mark.parametrize("value", [True, "auto", 2])
def test_options_of_several_types_are_parsed_as_they_are_formatted(value: object) -> None:
    assert parse_setting(Mixed, format_setting("fused", value)) == ("fused", value)
    assert parse_setting(Mixed, f"fused={value}") == ("fused", value)

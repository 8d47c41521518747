"""Configs: compared by value, canonical, read from a command line."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import KnobError, Problems
from orchestrator.space.configs import (
    canonical,
    format_setting,
    knobs_of,
    parse_setting,
    values_of,
)
from orchestrator.space.declare import knobs, systems
from orchestrator.space.domains import choice
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

"""What a command line changes in a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, nearest, raise_all
from orchestrator.search import SEARCHES
from orchestrator.search.base import SearchSpec
from orchestrator.space.declare import parse_setting, replaced
from orchestrator.sweep.checks import MAX_SEED
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Isolation


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Options that were given; None, or empty, where they were not.

    Attributes:
        settings: ``KNOB=VALUE`` each: fixes a knob.
        search: Name of another search.
        trials: Configs to try at most.
        seed: Seed of the plan and of the trials.
        repeats: Runs of every config.
        retries: How often a failed trial is tried again.
        cores_per_trial: Cores of every trial.
        isolation: How far trials are kept from each other.
    """

    settings: Sequence[str] = ()
    search: str | None = None
    trials: int | None = None
    seed: int | None = None
    repeats: int | None = None
    retries: int | None = None
    cores_per_trial: int | None = None
    isolation: str | None = None


def apply_overrides(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    """The sweep as the command line wants it.

    Raises:
        SweepError: Something in the overrides is not allowed; all of it is reported at once.
    """
    problems: list[SweepError] = []
    for change in (_with_settings, _with_search, _with_counts, _with_isolation):
        try:
            sweep = change(sweep, overrides)
        except SweepError as error:
            problems.append(error)
    raise_all(problems)
    return sweep


def apply_settings(sweep: Sweep[Any], settings: Sequence[str]) -> Sweep[Any]:
    """The sweep with knobs fixed, each by ``KNOB=VALUE``.

    A knob is fixed in the space and in the baseline, so that speed-ups still tell what the
    other knobs do, and not what this one does.

    Raises:
        SweepError: A knob or value is not allowed; all of them are reported at once.
    """
    values: dict[str, Any] = {}
    problems: list[SweepError] = []
    for setting in settings:
        try:
            name, value = parse_setting(sweep.trainable.config, setting)
            if name in values and values[name] != value:
                raise SweepError(f"--set {setting}: {name} is also set to {values[name]!r}")
            values[name] = value
        except SweepError as error:
            problems.append(error)
    raise_all(problems)
    return replace(
        sweep, space=replaced(sweep.space, values), baseline=replaced(sweep.baseline, values)
    )


def _with_settings(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    return apply_settings(sweep, overrides.settings)


def _with_search(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    search: SearchSpec = sweep.search
    if overrides.search is not None:
        search = _named_search(overrides.search, sweep.search)
    if overrides.trials is not None:
        _require("--trials", overrides.trials, 1)
        search = search.with_trials(overrides.trials)
    return replace(sweep, search=search)


def _named_search(name: str, present: SearchSpec) -> SearchSpec:
    """The search so named: the sweep's own where it is of that kind, else with its trials."""
    kind = SEARCHES.get(name)
    if kind is None:
        raise SweepFileError(
            f"--search {name}: unknown search{nearest(name, SEARCHES)}",
            f"allowed: {', '.join(SEARCHES)}",
        )
    if isinstance(present, kind):
        return present
    trials = getattr(present, "trials", None)
    return kind() if trials is None else kind(trials=trials)


def _with_counts(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    least = {"seed": 0, "repeats": 1, "retries": 0, "cores_per_trial": 1}
    given = {name: getattr(overrides, name) for name in least}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        _require(f"--{name.replace('_', '-')}", value, least[name])
    return replace(sweep, **given)


def _with_isolation(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    if overrides.isolation is None:
        return sweep
    names = [str(isolation) for isolation in Isolation]
    if overrides.isolation not in names:
        text = f"--isolation {overrides.isolation}: unknown{nearest(overrides.isolation, names)}"
        raise SweepFileError(text, f"allowed: {', '.join(names)}")
    return replace(sweep, isolation=Isolation(overrides.isolation))


def _require(option: str, value: int, least: int) -> None:
    if not least <= value <= MAX_SEED:
        allowed = f"allowed: a whole number >= {least} and <= {MAX_SEED}"
        raise SweepFileError(f"{option} {value} is not allowed", allowed)

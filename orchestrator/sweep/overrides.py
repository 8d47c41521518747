"""The changes that a command line makes to a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, nearest, raise_all
from orchestrator.kernel.search import SearchSpec
from orchestrator.search import SEARCHES, named_search
from orchestrator.search.own import with_trials
from orchestrator.space.configs import parse_setting, replaced
from orchestrator.sweep.checks import findings
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import is_of_rigor, with_setting


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Options that were given; None, or empty, where they were not.

    Attributes:
        settings: ``KNOB=VALUE`` each, which fixes a knob, ``rigor=PRESET`` or
            ``rigor.NAME=VALUE``.
        search: Name of another search.
        trials: Configs to try at most.
        fields: Other fields of the sweep by name, with their new values.
    """

    settings: Sequence[str] = ()
    search: str | None = None
    trials: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


def apply_overrides(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    """Return the sweep as the command line wants it.

    Raises:
        SweepError: Something in the overrides is not allowed; all of it is reported at once.
    """
    problems: list[SweepError] = []
    for change in (_with_settings, _with_search, _with_fields):
        try:
            sweep = change(sweep, overrides)
        except SweepError as error:
            problems.append(error)
    raise_all(problems)
    return sweep


def _with_settings(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    """Return the sweep with knobs fixed, each by ``KNOB=VALUE``, and its rigor changed.

    A knob is fixed in the space and in the baseline. So speed-ups still show the effect of the
    other knobs, and not of this one.
    """
    values: dict[str, Any] = {}
    problems: list[SweepError] = []
    rigor = sweep.rigor
    for setting in overrides.settings:
        try:
            if is_of_rigor(setting):
                rigor = with_setting(rigor, setting)
                continue
            name, value = parse_setting(sweep.trainable.config, setting)
            if name in values and values[name] != value:
                raise SweepError(f"--set {setting}: {name} is also set to {values[name]!r}")
            values[name] = value
        except SweepError as error:
            problems.append(error)
    raise_all(problems)
    return replace(
        sweep,
        space=replaced(sweep.space, values),
        baseline=replaced(sweep.baseline, values),
        rigor=rigor,
    )


def _with_search(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    search: SearchSpec = sweep.search
    if (name := overrides.search) is not None:
        if name not in SEARCHES:
            raise SweepFileError(
                f"--search {name}: unknown search{nearest(name, SEARCHES)}",
                f"allowed: {', '.join(SEARCHES)}",
            )
        search = named_search(name, sweep.search)
    if overrides.trials is not None:
        search = with_trials(search, overrides.trials)
    return replace(sweep, search=search)


def _with_fields(sweep: Sweep[Any], overrides: Overrides) -> Sweep[Any]:
    """Return the sweep with fields replaced; what a sweep file may say, a command line may."""
    changed = replace(sweep, **overrides.fields)
    raise_all(list(_problems(sweep, changed, overrides.fields)))
    return changed


def _problems(
    sweep: Sweep[Any], changed: Sweep[Any], fields: Mapping[str, Any]
) -> Iterator[SweepError]:
    """Yield what is wrong with the changed sweep alone: also of a field that fits no longer."""
    before = set(findings(sweep)) if fields else set()
    for name, text, allowed in findings(changed) if fields else ():
        if name in fields:
            yield SweepFileError(f"--{name.replace('_', '-')}{text}", allowed)
        elif (name, text, allowed) not in before:
            options = ", ".join(f"--{field.replace('_', '-')} {fields[field]}" for field in fields)
            yield SweepFileError(f"{options}: {name}{text}", allowed)

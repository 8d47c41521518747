"""The changes that a command line makes to a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, nearest, raise_all
from orchestrator.search import SEARCHES, named_search
from orchestrator.search.own import with_trials
from orchestrator.space.configs import parse_setting, replaced
from orchestrator.sweep.checks import findings
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import is_of_rigor, with_setting


def overridden(
    sweep: Sweep[Any],
    *,
    settings: Sequence[str] = (),
    search: str | None = None,
    trials: int | None = None,
    fields: Mapping[str, Any] | None = None,
) -> Sweep[Any]:
    """Return the sweep as the command line wants it.

    A knob is fixed in the space and in the baseline. So speed-ups still show the effect of the
    other knobs, and not of this one.

    Args:
        sweep: The sweep of the file.
        settings: ``KNOB=VALUE`` each, which fixes a knob, ``rigor=PRESET`` or
            ``rigor.NAME=VALUE``.
        search: Name of another search, or None.
        trials: Configs to try at most, or None.
        fields: Other fields of the sweep by name, with their new values.

    Raises:
        SweepError: Something in the changes is not allowed; all of it is reported at once.
    """
    problems: list[SweepError] = []
    values: dict[str, Any] = {}
    rigor, spec = sweep.rigor, sweep.search
    for setting in settings:
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
    if search is not None and search in SEARCHES:
        spec = named_search(search, spec)
    elif search is not None:
        meant = nearest(search, SEARCHES)
        if search.lower() in ("asha", "hyperband"):
            meant = "; it is stopping=Asha() of the sweep file, beside any search"
        problem = f"--search {search}: unknown search{meant}"
        problems.append(SweepFileError(problem, f"allowed: {', '.join(SEARCHES)}"))
    if trials is not None:
        spec = with_trials(spec, trials)
    space, baseline = (replaced(each, values) for each in (sweep.space, sweep.baseline))
    changed = replace(sweep, space=space, baseline=baseline, rigor=rigor, search=spec)
    if fields:
        before, changed = set(findings(changed)), replace(changed, **fields)
        problems += _problems(changed, fields, before)
    raise_all(problems)
    return changed


def _problems(
    changed: Sweep[Any], fields: Mapping[str, Any], before: set[tuple[str, str, str]]
) -> Iterator[SweepError]:
    """Yield what is wrong with the changed sweep alone: also of a field that fits no longer."""
    for name, text, allowed in findings(changed):
        if name in fields:
            yield SweepFileError(f"--{name.replace('_', '-')}{text}", allowed)
        elif (name, text, allowed) not in before:
            options = ", ".join(f"--{field.replace('_', '-')} {fields[field]}" for field in fields)
            yield SweepFileError(f"{options}: {name}{text}", allowed)

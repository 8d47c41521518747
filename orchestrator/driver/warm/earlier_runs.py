"""Earlier runs: which of them a search may be told of, and what they have to tell.

They must be of the same trainable, data, budget, cores per trial and hardware: else figures are
not comparable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.driver.warm.warm_start import WarmStart, refused
from orchestrator.errors import RunDirectoryError, SweepError, raise_all
from orchestrator.kernel.events import Asked, Finished
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.problem import EarlierConfig, Key, SearchProblem, key_of, varied_within
from orchestrator.machine import Machine
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Objective
from orchestrator.provenance.environment import TIMED_PACKAGES
from orchestrator.provenance.source import source_hash
from orchestrator.rules import SelectionRule
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState

_TOLD: Final = (TrialState.COMPLETED, TrialState.INFEASIBLE)
_HARDWARE: Final = ("cpu_model", "gpus")
"""What decides the speed of a node, of what ``sweep.json`` says of it."""


@dataclass(frozen=True, kw_only=True)
class Here:
    """Conditions that earlier runs must share; None for one that is not known before the start.

    Attributes:
        hardware: ``cpu_model`` and ``gpus`` of this machine; None where the trials run elsewhere.
        versions: Versions of packages, for a note where they differ.
        num_cores: Cores of each trial, or None.
    """

    hardware: Mapping[str, Any] | None
    versions: Mapping[str, str]
    num_cores: int | None


def read_warm_start(
    runs: Sequence[Path], sweep: Sweep[Any], machine: Machine, here: Here
) -> WarmStart:
    """Return the results of earlier runs that the sweep's search is to be told of.

    Args:
        runs: Their run directories.
        sweep: The sweep.
        machine: What its trials run on.
        here: What theirs must have run on.

    Raises:
        SweepError: The search does not go by results, or a run is not comparable with the sweep or
            has nothing to tell; all of it is reported at once.
    """
    if not runs:
        return WarmStart()
    _require_a_learner(sweep)
    # Its own constraints may be about a machine that has not answered yet.
    problem = search_problem(replace(sweep, constraints=()), machine)
    problems: list[SweepError] = []
    records: dict[str, SweepRecord] = {}
    told: dict[str, list[tuple[Trial, TrialResult]]] = {}
    for run in dict.fromkeys(run.absolute() for run in runs):
        try:
            record = _comparable_record(run, sweep, here)
            told[str(run)] = _results(run, problem)
            records[str(run)] = record
        except SweepError as error:
            problems.append(error)
    raise_all(problems)
    configs = _by_config(problem, [pair for pairs in told.values() for pair in pairs])
    return WarmStart(
        runs=tuple(records),
        configs=configs,
        fingerprints=tuple(record.data_fingerprint for record in records.values()),
        notes=(_summary(configs, told), *_changes(records, sweep, here)),
    )


# -- what makes an earlier run comparable


def _require_a_learner(sweep: Sweep[Any]) -> None:
    search = sweep.search
    if not search.warm_starts:
        raise SweepError(
            f"--warm-start: {search!r} asks for the same whatever was measured before",
            "give one that goes by results: --search tpe, nsga2 or gp",
        )


def _comparable_record(run: Path, sweep: Sweep[Any], here: Here) -> SweepRecord:
    try:
        record = read_sweep(run)
    except RunDirectoryError as error:
        raise RunDirectoryError(f"--warm-start {error.message}", error.hint) from None
    for text in _differences(record, sweep, here):
        raise refused(run, text)
    return record


def _differences(record: SweepRecord, sweep: Sweep[Any], here: Here) -> Iterator[str]:
    """Yield each reason why figures of a run are not comparable with the sweep's."""
    if record.trainable != sweep.trainable.name:
        yield f"it trained {record.trainable}, the sweep trains {sweep.trainable.name}"
    if record.budget != sweep.budget:
        then, now = _in_words(record.budget), _in_words(sweep.budget)
        yield f"its trials trained {then}, the sweep's {now}: they learn not as much"
    metrics = {objective.metric for objective in sweep.objectives}
    if metrics.intersection(OF_THE_TARGET):
        counted_to = _targets(record, sweep)
        if len(set(counted_to)) > 1:
            both = ", not ".join(map(_target_in_words, counted_to))
            yield f"what it counts the time to is another target than the sweep's: {both}"
    if "cost" in metrics and dict(record.prices) != dict(sweep.prices):
        yield f"its prices were {dict(record.prices)}, the sweep's are {dict(sweep.prices)}"
    if here.num_cores is not None and record.cores_per_trial != here.num_cores:
        yield (
            f"its trials had {record.cores_per_trial} cores each, the sweep's have "
            f"{here.num_cores}: their speeds are not comparable"
        )
    for name in _HARDWARE if here.hardware is not None else ():
        there, found = record.hardware.get(name), (here.hardware or {}).get(name)
        if there != found:
            yield f"its {name} was {there!r}, here it is {found!r}: speeds are not comparable"


def _targets(record: SweepRecord, sweep: Sweep[Any]) -> tuple[Objective | None, Objective | None]:
    """Return the target of a run and of the sweep, a near one with its tolerance of the best.

    The analysis is imported where there is a target, since it takes a second.
    """
    from orchestrator.analysis.rule import rule_of

    asked = replace(
        record,
        target=sweep.aim,
        rule=sweep.rule if isinstance(sweep.rule, SelectionRule) else SelectionRule(),
        rigor=sweep.rigor,
    )
    return rule_of(record).target, rule_of(asked).target


def _target_in_words(target: Objective | None) -> str:
    if target is None:
        return "none"
    if target.bound is not None:
        return f"{target.metric} of {target.bound:g}"
    return f"{target.metric} within {target.tolerance:g} of the best"


def _in_words(budget: Budget) -> str:
    return ", ".join(f"{name} {value}" for name, value in budget.to_json().items() if value)


# -- what it has to tell


def _results(run: Path, problem: SearchProblem) -> list[tuple[Trial, TrialResult]]:
    """Return the training runs of a run that say something, in the order in which they ended.

    Raises:
        RunDirectoryError: There is none, or its journal is missing or damaged.
    """
    asked: dict[str, Trial] = {}
    ended: dict[str, TrialResult] = {}
    journal = run / RunFile.JOURNAL
    for event in read_journal(journal) if journal.exists() else ():
        if isinstance(event, Asked):
            asked[event.trial.id] = event.trial
        elif isinstance(event, Finished):
            ended.pop(event.trial_id, None)
            ended[event.trial_id] = event.result
    names = [objective.metric for objective in problem.objectives]
    told = [
        (trial, result)
        for trial, result in ((asked[name], result) for name, result in ended.items())
        if trial.stage is Stage.TRAIN and result.state in _TOLD
        if result.state is TrialState.INFEASIBLE
        or (trial.budget == problem.budget and all(name in result.metrics for name in names))
    ]
    if not told:
        raise refused(run, f"no trial of it has {' and '.join(names)}")
    if not any(varied_within(problem, trial.config) is not None for trial, _ in told):
        raise refused(run, "none of its configs lies in the sweep's space")
    return told


def _by_config(
    problem: SearchProblem, told: Sequence[tuple[Trial, TrialResult]]
) -> tuple[EarlierConfig, ...]:
    """Return the results of each config that lies in the space."""
    results: dict[Key, list[TrialResult]] = {}
    configs: dict[Key, Mapping[str, Any]] = {}
    for trial, result in told:
        if varied_within(problem, trial.config) is not None:
            key = key_of(problem, trial.config)
            configs[key] = trial.config
            results.setdefault(key, []).append(result)
    return tuple(
        EarlierConfig(config=config, results=results[key]) for key, config in configs.items()
    )


# -- words


def _summary(
    configs: Sequence[EarlierConfig], told: Mapping[str, Sequence[tuple[Trial, TrialResult]]]
) -> str:
    num_trials = sum(map(len, told.values()))
    num_told = sum(len(each.results) for each in configs)
    outside = f"; {num_trials - num_told} more lie outside of the space" * (num_told < num_trials)
    return (
        f"the search begins with {num_told} results of {len(configs)} configs from "
        f"{', '.join(told)}{outside}. They are in no table and no claim of this run"
    )


def _changes(records: Mapping[str, SweepRecord], sweep: Sweep[Any], here: Here) -> Iterator[str]:
    """Yield a note for each run whose source or versions differ; it is told all the same."""
    source = source_hash(sweep.trainable)
    for run, record in records.items():
        then, now = (
            {name: of.get(name) for name in TIMED_PACKAGES}
            for of in (record.versions, here.versions)
        )
        changed = [f"{n} {then[n]} then, {now[n]} now" for n in TIMED_PACKAGES if then[n] != now[n]]
        if record.source_hash != source:
            changed.insert(0, "the trainable's source has changed")
        if changed:
            text = f"{'; '.join(changed)}: its figures may differ from this run's"
            yield f"--warm-start {run}: {text}"

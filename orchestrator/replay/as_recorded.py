"""A replay from a command line: its table read, its sweep made to fit.

What can be known before anything starts is refused here: another trainable or other data, configs
that were not recorded, too few repeats, a figure that no run has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from orchestrator.errors import RunDirectoryError, nearest
from orchestrator.execution.placement import cores_of_trial
from orchestrator.kernel.candidates import Candidates
from orchestrator.kernel.problem import SearchProblem, key_of
from orchestrator.metric_table import DERIVED
from orchestrator.replay.recorded import ReplayError
from orchestrator.replay.setup import Replay
from orchestrator.replay.table import read_recorded
from orchestrator.search.factored import Factored
from orchestrator.search.factored.search import FactoredSearch
from orchestrator.search.grid import Grid
from orchestrator.search.optuna import Optuna
from orchestrator.search.random import Random
from orchestrator.space.configs import built
from orchestrator.sweep.definition import NODE, Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Budget, Isolation, Stage


class Asked(Protocol):
    """The options of a command line that a replay reads."""

    @property
    def table(self) -> Path | None:
        """The run directory to replay, or None."""

    @property
    def replay(self) -> Mapping[str, Any]:
        """Settings of the simulated machine: ``cores``, ``nodes``, ``reuse_repeats``."""

    @property
    def data(self) -> str | None:
        """The data set asked for, or None."""

    @property
    def cores_per_trial(self) -> int | None:
        """The cores of each trial asked for, or None."""


def read_replay(sweep: Sweep[Any], options: Asked) -> Replay | None:
    """Return the replay that the options ask for; None where trials are to be measured.

    Raises:
        RunDirectoryError: The table cannot be replayed for this sweep.
    """
    if options.table is None:
        return None
    table, given = read_recorded(options.table), options.replay
    machine = table.machine(cores=given.get("cores"), nodes=given.get("nodes"))
    replay = Replay(
        table=table,
        machine=machine,
        seed=sweep.seed,
        reuse_repeats=given.get("reuse_repeats", False),
        may_stop=_may_stop(sweep),
    )
    _require_same_question(sweep, options, replay)
    return replay


def as_recorded(sweep: Sweep[Any], replay: Replay) -> tuple[Sweep[Any], list[str]]:
    """Return the sweep as it can be replayed, and notes on what differs from what it asks for.

    A trial has as many cores as the recorded ones had. The interference check is left out unless
    the table has its isolated runs.
    """
    recorded, notes = replay.table.sweep, list[str]()
    cores = recorded.cores_per_trial
    if sweep.cores_per_trial is not NODE and sweep.cores_per_trial != cores:
        notes.append(f"trials have {cores} cores each, as the recorded ones had")
    sweep = replace(sweep, cores_per_trial=cores)
    checked = any(
        one.trial.isolated and one.trial.stage is Stage.TRAIN for one in replay.table.recordings
    )
    fits = replay.machine.cpus // cores > 1 and sweep.isolation is Isolation.LEASED
    if sweep.rigor.check_isolated and not checked:
        sweep = replace(sweep, rigor=replace(sweep.rigor, check_isolated=0))
        if fits:
            notes.append("no interference check: the recorded run has no isolated runs for it")
    return sweep, notes


def require_recorded(sweep: Sweep[Any], replay: Replay) -> None:
    """Check what is known beforehand of what the sweep will ask the table for.

    Raises:
        ReplayError: Something was not recorded.
    """
    problem = search_problem(sweep, replay.machine)
    problems = list(_missing(sweep, replay, problem))
    if problems:
        num = len(problems) - 1
        more = f" (and {num:,} more config{'s' * (num > 1)} like it)" if num else ""
        raise ReplayError(f"{problems[0].message}{more}", problems[0].hint)


def _require_same_question(sweep: Sweep[Any], options: Asked, replay: Replay) -> None:
    """Raise an error where the table is of another trainable, data set or number of cores."""
    where, table = replay.source, replay.table.sweep
    if table.trainable != sweep.trainable.name:
        raise RunDirectoryError(
            f"{where}: is of the trainable {table.trainable}, the sweep's is "
            f"{sweep.trainable.name}",
            "give a run of the same trainable",
        )
    if options.data and options.data.partition("@")[0] != table.data.partition("@")[0]:
        raise RunDirectoryError(
            f"--data {options.data}: {where} is of {table.data}", "leave --data out"
        )
    cores = table.cores_per_trial
    if options.cores_per_trial not in (None, cores):
        raise RunDirectoryError(
            f"--cores-per-trial {options.cores_per_trial}: the trials of {where} had {cores}",
            "leave it out: how fast they are with other cores was not recorded",
        )
    if cores_of_trial(cores, replay.machine) < cores:
        raise RunDirectoryError(
            f"--set replay.cores={options.replay['cores']}: the trials of {where} had {cores} "
            "cores each",
            f"allowed: {cores} or more",
        )
    _require_metrics(sweep, replay)


def _require_metrics(sweep: Sweep[Any], replay: Replay) -> None:
    known = replay.table.metrics | {metric.name for metric in DERIVED}
    for objective in sweep.objectives:
        if objective.metric not in known:
            raise RunDirectoryError(
                f"{replay.source}: no run of it has the objective {objective.metric}"
                f"{nearest(objective.metric, known)}",
                f"recorded: {', '.join(sorted(known))}",
            )


def _missing(sweep: Sweep[Any], replay: Replay, problem: SearchProblem) -> Iterator[ReplayError]:
    """Yield an error for each config whose runs will be too few, as far as that is known."""
    drawing, trains = replay.drawing(), isinstance(sweep.search, (Grid, Random))
    for config in _to_train(sweep, problem):
        if sweep.trainable.infeasible(built(sweep.trainable.config, config), replay.machine):
            continue
        try:
            able = drawing.able(config, Stage.TRAIN, _surely_trained(sweep, problem, config))
        except ReplayError as error:
            yield error
            continue
        asked = sweep.rigor.repeats
        if len(able) < asked and not replay.reuse_repeats:
            yield _too_few(
                drawing.named(config), len(able), f"{asked} repeats take {asked}", replay
            )
    if sweep.rigor.confirm and not replay.reuse_repeats:
        baseline, searched = problem.baseline, sweep.rigor.repeats * trains
        able = drawing.able(baseline, Stage.CONFIRM, _confirmed(sweep, problem))
        if len(able) < searched + sweep.rigor.confirm:
            why = f"the search takes {searched} and the confirm stage {sweep.rigor.confirm}"
            yield _too_few(drawing.named(baseline), len(able), why, replay)


def _to_train(sweep: Sweep[Any], problem: SearchProblem) -> Iterator[dict[str, Any]]:
    """Yield the configs that are trained whatever the results, where the search has any."""
    if isinstance(sweep.search, (Grid, Random)):
        candidates: Candidates = sweep.search.candidates(problem)
        yield from map(candidates.config, candidates.keys)


def _may_stop(sweep: Sweep[Any]) -> bool:
    """Return True where the search may stop a trial at a report."""
    return sweep.stopping is not None or not isinstance(sweep.search, (Grid, Random, Optuna))


def _surely_trained(sweep: Sweep[Any], problem: SearchProblem, config: Mapping[str, Any]) -> Budget:
    """Return how long a config is trained whatever the results: to the end, or the first rung."""
    if sweep.stopping is None or key_of(problem, config) == key_of(problem, problem.baseline):
        return sweep.budget
    return replace(sweep.budget, pause_after=sweep.stopping.rungs(sweep.epochs)[0])


def _confirmed(sweep: Sweep[Any], problem: SearchProblem) -> Budget:
    """Return the budget of the confirm runs that are compared."""
    if not isinstance(sweep.search, Factored):
        return sweep.budget
    search = sweep.search.start(problem)
    assert isinstance(search, FactoredSearch), "it is factored"
    return search.confirm_budget


def _too_few(config: str, num_runs: int, why: str, replay: Replay) -> ReplayError:
    return ReplayError(
        f"{replay.source}: has {num_runs} run{'s' * (num_runs != 1)} of {config}: {why}",
        "record more, ask for fewer (--set rigor.repeats=N rigor.confirm=N), or give "
        "--set replay.reuse_repeats=true",
    )

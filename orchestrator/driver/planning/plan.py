"""The plan of a sweep: counted before anything starts, without Ray or torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.driver.budgets.expectation import ConfirmStage
from orchestrator.driver.planning.past_durations import Earlier, Kind, earlier_trials
from orchestrator.errors import SweepFileError
from orchestrator.execution.placement import machine_capacity
from orchestrator.kernel.candidates import Candidates
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import PlannedStage
from orchestrator.machine import Machine
from orchestrator.search.factored import Factored
from orchestrator.search.grid import Grid, every_combination
from orchestrator.search.optuna import Optuna
from orchestrator.search.random import MAX_ENUMERATED
from orchestrator.search.stages.interference import ROUNDS
from orchestrator.search.stages.repeats import MAX_CONTENDERS
from orchestrator.space.configs import built, domains_of, values_of
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trainable import Demand
from orchestrator.trial import Isolation


@dataclass(frozen=True, kw_only=True)
class CannotRun:
    """Configs that cannot run here, all for one reason.

    Attributes:
        reason: Why.
        num_configs: How many.
        example: The varied knobs of one of them.
    """

    reason: str
    num_configs: int
    example: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a sweep.

    Attributes:
        sweep: The question.
        machine: Where.
        candidates: The configs of a search that knows them beforehand. Of another search:
            the combinations of the values that its knobs have, with the middle of each
            interval or the points that it states; None where these are too many.
        exact: Whether the candidates are what will be run.
        is_whole: Whether the candidates are all that a search that tries none twice could run.
        max_configs: Most configs that will be trained, or None for no limit known.
        stages: The stages of a search that knows them; of another one none.
        cannot_run: What cannot run here among the candidates, the largest group first.
        num_cores: Cores of every trial.
        num_gpus: GPUs of the trial that asks for the most.
        capacity: Trials that run at the same time: those with the largest demand, and those
            with the smallest.
        earlier: What earlier trials of the sweep took, or None where there are none.
        stated_s: Seconds that a trial on this data takes by the sweep file, or None.
    """

    sweep: Sweep[Any]
    machine: Machine
    candidates: Candidates | None
    exact: bool
    is_whole: bool = False
    max_configs: int | None
    stages: tuple[PlannedStage, ...]
    cannot_run: tuple[CannotRun, ...]
    num_cores: int
    num_gpus: int
    capacity: tuple[int, int]
    earlier: Earlier | None
    stated_s: float | None

    @property
    def num_infeasible(self) -> int:
        """Return the number of candidates that cannot run here: one row each, without a run."""
        return sum(group.num_configs for group in self.cannot_run)

    @property
    def num_train(self) -> int | None:
        """Return the most trials to train, infeasible ones left out; None for no known limit."""
        return None if self.num_able is None else self.num_able * self.sweep.rigor.repeats

    @property
    def num_able(self) -> int | None:
        """Return the most configs that are trained, infeasible ones left out; or None."""
        if self.max_configs is None:
            return None
        if self.candidates is None or not (self.exact or self.is_whole):
            return self.max_configs
        return min(self.max_configs, len(self.candidates.keys) - self.num_infeasible)

    @property
    def least_searched(self) -> int:
        """Return the fewest trials of the search; of one that chooses as it goes its limit."""
        if self.stages:
            return sum(stage.least for stage in self.stages)
        return self.num_train or 0

    @property
    def most_searched(self) -> int | None:
        """Return the most trials of the search; None for no known limit."""
        if self.stages:
            most = [stage.most for stage in self.stages]
            return None if None in most else sum(number or 0 for number in most)
        return self.num_train

    @property
    def is_factored(self) -> bool:
        """Return True for a search with seeds and isolated probes of its own."""
        return isinstance(self.sweep.search, Factored)

    @property
    def num_repeated(self) -> int:
        """Return the most repeats that may be added after the search, at most."""
        if self.is_factored:
            return 0  # it has seeds of its own
        configs = self._at_most(1 + MAX_CONTENDERS)
        if configs < 2:
            return 0  # nothing to tell it from
        return configs * max(self.sweep.rigor.max_repeats - self.sweep.rigor.repeats, 0)

    @property
    def num_isolated(self) -> int:
        """Isolated runs of the interference check, and as many co-located ones.

        Where their speeds differ, the trials that were trained co-located are trained again.
        """
        side_by_side = self.capacity[1] > self.num_nodes and not self.is_factored
        checks = self.sweep.isolation is Isolation.LEASED and side_by_side
        return ROUNDS * self.num_checked if checks else 0

    @property
    def num_checked(self) -> int:
        """Return the number of configs that the interference check runs; none of a sole one."""
        configs = self._at_most(self.sweep.rigor.check_isolated)
        return configs if self._at_most(2) > 1 else 0

    @property
    def num_nodes(self) -> int:
        """Return the number of nodes that trials may run on."""
        return len(self.machine.nodes)

    @property
    def num_confirm(self) -> int:
        """Return the number of trials to confirm, unless more are needed.

        The selected config and the baseline, then the one that looks at the test split.
        """
        return self._at_most(2) * self.sweep.rigor.confirm + 1 if self.sweep.rigor.confirm else 0

    @property
    def num_finalists(self) -> int:
        """Return the most configs that confirm rounds compare, the baseline among them."""
        return self._at_most(1 + self.sweep.rigor.finalists)

    def _at_most(self, number: int) -> int:
        """Return ``number``, or how many configs there are where these are fewer."""
        return number if self.num_able is None else min(number, max(1, self.num_able))

    @property
    def max_confirm(self) -> int:
        """Return the most trials to confirm: the finalists and the baseline."""
        if not self.sweep.rigor.confirm:
            return 0
        most = max(self.sweep.rigor.confirm, self.sweep.rigor.max_confirm)
        return (
            self.num_finalists * (most if self.num_finalists > 1 else self.sweep.rigor.confirm) + 1
        )

    @property
    def confirm_stage(self) -> ConfirmStage:
        """Return the confirm stage up to its first interim analysis."""
        return ConfirmStage(
            rounds=self.sweep.rigor.confirm,
            share=self.confirm_share,
            finalists=self.num_finalists - 1,
        )

    @property
    def confirm_share(self) -> float:
        """Return the time of a confirm run that is compared, as a share of a whole training's."""
        search = self.sweep.search
        return search.confirm_share if isinstance(search, Factored) else 1.0

    @property
    def confirms_end_to_end(self) -> bool:
        """Return True where one more config of the front may be trained whole at the end."""
        return bool(self.num_confirm) and self.is_factored

    @property
    def trial_s(self) -> float | None:
        """Return the seconds of a trial: of earlier ones, else as stated, else None."""
        return self.stated_s if self.earlier is None else self.earlier.median_s


def make_plan(
    sweep: Sweep[Any],
    machine: Machine,
    *,
    num_cores: int,
    max_concurrent: int | None = None,
    runs: Sequence[Path] = (),
    data: str = "",
) -> Plan:
    """Return the plan of a sweep.

    Args:
        sweep: What is asked.
        machine: Where it would run.
        num_cores: Cores of every trial.
        max_concurrent: Most trials at the same time, or None.
        runs: Directories of the sweep's earlier runs, which the expected time is taken from.
        data: Name of the data set, of which these must have been.

    Raises:
        SweepError: The sweep's constraints exclude every config, or its grid is too large.
    """
    problem = search_problem(sweep, machine)
    search = sweep.search
    stages, known = tuple(search.planned(problem)), search.candidates(problem)
    exact = known is not None
    candidates, is_whole = (known, False) if exact else _candidates(sweep, problem)
    cannot_run, gpus = _feasibility(sweep, machine, candidates)
    most = [_most_trials(sweep, machine, num_cores, count) for count in gpus]
    limits = [min(count, max_concurrent or count) for count in most]
    return Plan(
        sweep=sweep,
        machine=machine,
        candidates=candidates,
        exact=exact,
        is_whole=is_whole,
        max_configs=_max_configs(sweep, candidates, is_known=exact or is_whole),
        stages=stages,
        cannot_run=cannot_run,
        num_cores=num_cores,
        num_gpus=max(gpus),
        capacity=(min(limits), max(limits)),
        earlier=earlier_trials(runs, kind_of(sweep, num_cores, data)),
        stated_s=sweep.trial_s.get(data),
    )


def kind_of(sweep: Sweep[Any], num_cores: int, data: str) -> Kind:
    """Return what earlier trials must have in common with those of a sweep, to tell of them."""
    varied = domains_of(sweep.space)
    fixed = {name: v for name, v in values_of(sweep.space).items() if name not in varied}
    return Kind(budget=sweep.budget, num_cores=num_cores, data=data, fixed=fixed)


def _candidates(sweep: Sweep[Any], problem: SearchProblem) -> tuple[Candidates | None, bool]:
    """Return configs to count, and whether they are all that a search without repetitions has."""
    if isinstance(sweep.search, Optuna):
        every = every_combination(problem, MAX_ENUMERATED)
        if every is not None:
            candidates = Candidates(problem=problem)
            candidates.add_all(every)
            return candidates, True
    try:
        # The grid that the search goes by, if it has one.
        return Grid(points=getattr(sweep.search, "points", 1)).candidates(problem), False
    except SweepFileError:  # more than can be gone through, and than will be tried
        return None, False


def _max_configs(sweep: Sweep[Any], candidates: Candidates | None, *, is_known: bool) -> int | None:
    """Return the most configs that the search tries by its own account, or None."""
    trials = getattr(sweep.search, "trials", None)
    limits = [trials] if isinstance(trials, int) else []
    if is_known and candidates is not None:
        limits.append(len(candidates.keys))
    return min(limits, default=None)


def _feasibility(
    sweep: Sweep[Any], machine: Machine, candidates: Candidates | None
) -> tuple[tuple[CannotRun, ...], set[int]]:
    """Return the configs that cannot run, and the GPU counts that the others ask for."""
    varied = domains_of(sweep.space)
    counts: dict[str, int] = {}
    examples: dict[str, dict[str, Any]] = {}
    gpus: set[int] = set()
    for values in _configs(candidates):
        config = built(sweep.trainable.config, values)
        reason = sweep.trainable.infeasible(config, machine)
        if reason is not None:
            counts[reason] = counts.get(reason, 0) + 1
            examples.setdefault(reason, {name: values[name] for name in varied})
        elif machine.gpus:
            gpus.add(sweep.trainable.demand_of(config, machine).gpus)
    groups = [
        CannotRun(reason=reason, num_configs=count, example=examples[reason])
        for reason, count in counts.items()
    ]
    return tuple(sorted(groups, key=lambda group: -group.num_configs)), gpus or {0}


def _configs(candidates: Candidates | None) -> Iterator[dict[str, Any]]:
    return map(candidates.config, candidates.keys) if candidates else iter(())


def _most_trials(sweep: Sweep[Any], machine: Machine, num_cores: int, gpus: int) -> int:
    if sweep.isolation is Isolation.EXCLUSIVE:
        return len(machine.nodes)
    return machine_capacity(num_cores, machine, Demand(gpus=gpus))

"""The plan of a sweep: counted before anything starts, without Ray or torch."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from orchestrator.driver.budgets import Amount
from orchestrator.driver.phases import capacity_of, make_phases
from orchestrator.driver.record import question_record
from orchestrator.driver.request import Request
from orchestrator.errors import RunDirectoryError, SweepFileError
from orchestrator.execution.placement import cores_of_trial
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.problem import Candidates
from orchestrator.kernel.search import PlannedStage, Search
from orchestrator.machine import Machine
from orchestrator.search.grid import combinations
from orchestrator.search.own import with_trials
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.sequence import Searching
from orchestrator.space.configs import built
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import read_history
from orchestrator.storage.runs import DEFAULT_RUNS
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import TrialState


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a sweep.

    Attributes:
        sweep: The question.
        machine: Where.
        candidates: The configs of a search that knows them beforehand. For another search:
            the combinations of its knobs' values, with the middle of each
            interval or the points that it states; None if there are too many.
        exact: Whether the candidates are what will be run.
        is_whole: Whether the candidates are all that a search without repetitions could run.
        max_configs: Most configs that get a row, or None for no limit known.
        num_able: Most of them that are trained, infeasible ones left out; or None.
        cannot_run: The candidates that cannot run here by the reason, the largest group first.
        is_staged: True for a search that knows stages.
        searched: The stages of the search.
        around: The stages of the phases around the search.
        num_cores: Cores of every trial.
        capacity: Trials that run at the same time.
        earlier_s: Seconds for which each trial of earlier runs like this one had its cores.
        stated_s: Seconds that a trial on this data takes by the sweep file, or None.
    """

    sweep: Sweep[Any]
    machine: Machine
    candidates: Candidates | None
    exact: bool
    is_whole: bool
    max_configs: int | None
    num_able: int | None
    cannot_run: Mapping[str, Sequence[Mapping[str, Any]]]
    is_staged: bool
    searched: tuple[PlannedStage, ...]
    around: tuple[PlannedStage, ...]
    num_cores: int
    capacity: int
    earlier_s: Sequence[float] = ()
    stated_s: float | None = None

    @property
    def finals(self) -> tuple[PlannedStage, ...]:
        """Return the confirm stage."""
        return tuple(stage for stage in self.around if stage.stage.is_final)

    @property
    def trial_s(self) -> float | None:
        """Return the seconds of a trial: of earlier ones, else as stated, else None."""
        return median(self.earlier_s) if self.earlier_s else self.stated_s

    def share_of(self, stage: PlannedStage, share: float) -> float:
        """Return a share of a whole training, at least what the stage's least seconds are of it."""
        return max(share, min(stage.least_s / self.trial_s, 1.0)) if self.trial_s else share

    def share_on(self, times: int) -> float:
        """Return the least time on so many times the nodes, over that on these."""
        machine = Machine(nodes=self.machine.nodes * times)
        more = replace(self, machine=machine, capacity=self.capacity * times)
        return least(more).rounds / least(self).rounds


def make_plan(
    sweep: Sweep[Any],
    machine: Machine,
    *,
    num_cores: int,
    max_concurrent: int | None = None,
    data: str = "",
) -> Plan:
    """Return the plan of a sweep: its phases are made and counted, and none of them begins.

    Args:
        sweep: The sweep.
        machine: Where it would run.
        num_cores: Cores of every trial.
        max_concurrent: Most trials at the same time, or None.
        data: Name of the data set, or empty.

    Raises:
        SweepError: The sweep's constraints exclude every config, or its grid is too large.
    """
    problem = search_problem(sweep, machine)
    candidates = sweep.search.candidates(problem)
    exact, is_whole = candidates is not None, False
    if candidates is None:
        known = sweep.search.combinations(problem)
        is_whole = known is not None and not sweep.search.has_rungs
        with suppress(SweepFileError):  # more than can be enumerated, and than will be tried
            candidates = Candidates.of(problem, known or combinations(problem, 1))
    cannot_run = _infeasible(sweep, machine, candidates)
    trials = getattr(sweep.search, "trials", None)
    max_configs = num_able = trials if isinstance(trials, int) else None
    if candidates is not None and (exact or is_whole):
        num_configs = len(candidates.keys)
        max_configs = min(max_configs or num_configs, num_configs)
        num_able = min(max_configs, num_configs - sum(map(len, cannot_run.values())))
    stages = sweep.search.planned(problem)
    if not (searched := list(stages)):  # of a search that knows none
        runs, share = sweep.rigor.repeats, sweep.least_share
        num = None if num_able is None else num_able * runs
        text = f"{runs} runs each" if runs > 1 else ""
        stage = PlannedStage(name="train", least=num or 0, most=num, least_share=share, text=text)
        searched = [stage]
    capacity = capacity_of(sweep, machine, num_cores, max_concurrent)
    phases = make_phases(
        sweep, problem, Search(), machine=machine, capacity=capacity, judge=Judge()
    )
    around = (phase for phase in phases if not isinstance(phase, Searching))
    return Plan(
        sweep=sweep,
        machine=machine,
        candidates=candidates,
        exact=exact,
        is_whole=is_whole,
        max_configs=max_configs,
        num_able=num_able,
        cannot_run=cannot_run,
        is_staged=bool(stages),
        searched=tuple(searched),
        around=tuple(stage for phase in around for stage in phase.planned(num_able)),
        num_cores=num_cores,
        capacity=capacity.total,
        stated_s=sweep.trial_s.get(data),
    )


def _infeasible(
    sweep: Sweep[Any], machine: Machine, candidates: Candidates | None
) -> dict[str, list[dict[str, Any]]]:
    """Return the configs that cannot run, by their reasons."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for values in map(candidates.config, candidates.keys) if candidates else ():
        if reason := sweep.trainable.infeasible(built(sweep.trainable.config, values), machine):
            groups[reason].append(values)
    return dict(sorted(groups.items(), key=lambda group: -len(group[1])))


# -- of a request


def planned(request: Request, machine: Machine, data: str, trials: int | None = None) -> Plan:
    """Return the plan of a request.

    Args:
        request: The request.
        machine: Where it would run.
        data: Name of its data set, or empty.
        trials: Configs to which its search is extended, or None.
    """
    sweep, most = request.sweep, request.max_concurrent
    if trials is not None:
        sweep = replace(sweep, search=with_trials(sweep.search, trials))
    num_cores = cores_of_trial(sweep.cores_per_trial, machine)
    plan = make_plan(sweep, machine, num_cores=num_cores, max_concurrent=most, data=data)
    if request.replay is not None:
        return replace(plan, earlier_s=request.replay.trials_s)
    asked = replace(question_record(sweep, request.file), cores_per_trial=num_cores, data=data)
    runs = {run.resolve() for run in (DEFAULT_RUNS / request.file.stem).glob("*")}
    if (run_dir := request.options.run_dir) is not None:
        runs.add(run_dir.resolve())
    return replace(plan, earlier_s=[s for run in sorted(runs) for s in earlier_s(run, asked)])


def earlier_s(run: Path, asked: SweepRecord) -> Iterator[float]:
    """Yield the seconds for which each whole training of an earlier run had its cores.

    Only of a run with the budget, the fixed knobs, the cores and the data of ``asked``; none of a
    run that cannot be read.
    """
    with suppress(RunDirectoryError, OSError, KeyError):
        record, names = read_sweep(run), ("budget", "fixed", "cores_per_trial", "data")
        if record.replayed or any(getattr(record, n) != getattr(asked, n) for n in names):
            return
        for each in read_history(read_journal(run / RunFile.JOURNAL)).trials.values():
            result, seconds = each.concluded, each.taken_s
            completed = result is not None and result.state is TrialState.COMPLETED
            is_whole = each.trial.budget == asked.budget and not each.trial.interleaved
            if completed and is_whole and seconds is not None:
                yield seconds


# -- totals


@dataclass(frozen=True, kw_only=True)
class Total:
    """The total of some stages.

    Attributes:
        trials: Trials that are run.
        amount: What they take; None where no trial's duration is known.
        trainings: Their core-time as a number of whole trainings.
        rounds: Their time, likewise.
    """

    trials: int
    amount: Amount | None
    trainings: float = field(default=0.0, compare=False)
    rounds: float = field(default=0.0, compare=False)


def least(plan: Plan, stages: Sequence[PlannedStage] | None = None) -> Total:
    """Return the total of what is planned, or of some stages, if nothing is added."""
    parts = [
        (stage, stage.least, stage.share_of_trial if (s := stage.least_share) is None else s)
        for stage in ((*plan.searched, *plan.around) if stages is None else stages)
    ]
    return _total(plan, parts)


def most(plan: Plan, stages: Sequence[PlannedStage] | None = None) -> Total | None:
    """Return the total with all that may be added; None if the search has no known end."""
    stages = (*plan.searched, *plan.around) if stages is None else stages
    known = [(s, s.most, s.share_of_trial) for s in stages if s.most is not None]
    return _total(plan, known) if len(known) == len(stages) else None


def _total(plan: Plan, parts: Sequence[tuple[PlannedStage, int, float]]) -> Total:
    """Return the total of stages, each with its number of trials and their share of a training."""
    trials, amount = sum(num for _, num, _ in parts), None
    parts = [(stage, num, plan.share_of(stage, share)) for stage, num, share in parts]
    trainings, nodes = sum(num * share for _, num, share in parts), len(plan.machine.nodes)
    rounds = sum(
        share * -(-num // (nodes if stage.isolated else plan.capacity))
        for stage, num, share in parts
    )
    if plan.trial_s is not None:
        core_s = plan.num_cores * plan.trial_s * trainings
        amount = Amount(time_s=plan.trial_s * rounds, core_s=core_s)
    return Total(trials=trials, amount=amount, trainings=trainings, rounds=rounds)


def num_rows(plan: Plan) -> int | None:
    """Return the most rows of the search and the fewest of the confirm stage; None: no end."""
    searched = [stage.most for stage in plan.searched]
    if not plan.is_staged:  # a config that cannot run has a row as well
        configs = plan.max_configs
        searched = [None if configs is None else configs * plan.sweep.rigor.repeats]
    rows = [*searched, *(stage.least for stage in plan.finals)]
    return None if None in rows else sum(number or 0 for number in rows)

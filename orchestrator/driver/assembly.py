"""The parts of a run, made from a request: its executor, its trials' factory, its search."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from orchestrator.data import PreparedData
from orchestrator.derived import DerivedFigures
from orchestrator.driver.executors import EXECUTORS, Surroundings
from orchestrator.driver.planning.of_request import expected_trial_s
from orchestrator.driver.request import Request
from orchestrator.driver.trials import TrialFactory
from orchestrator.driver.warm.warm_start import WarmStart
from orchestrator.errors import RunDirectoryError
from orchestrator.execution.placement import cores_of_trial, machine_capacity
from orchestrator.kernel.executor import SHORT_S, Executor, Source
from orchestrator.machine import Machine
from orchestrator.provenance.source import source_hash
from orchestrator.search.factored.search import FactoredSearch
from orchestrator.search.own import started
from orchestrator.search.stages.allowance import Allowance
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.end_to_end import EndToEnd
from orchestrator.search.stages.interference import InterferenceCheck
from orchestrator.search.stages.interim_analyses import InterimAnalyses
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.repeats import Repeating
from orchestrator.search.stages.sequence import Phase, Searching, Stages
from orchestrator.storage.sweep_record import Capacity, SweepRecord
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.system.memory import node_bytes
from orchestrator.trial import Isolation

CONFIRM_SHARE: Final = 0.4
"""Core-time of a factored search's confirm stage at most, as a share of what came before it."""


def make_executor(request: Request, folder: Path) -> Executor:
    """Return the executor asked for, its fork servers already on their way up.

    Args:
        request: The request.
        folder: A private one for all that the run leaves outside its run directory.
    """
    options, trainable = request.options, request.sweep.trainable
    allocator = getattr(request.sweep.baseline, "allocator", "tuned")
    surroundings = Surroundings(
        folder=folder,
        preload=[(allocator, trainable.imports)],
        file=request.file,
        address=options.address,
        max_concurrent=options.max_concurrent,
        replay=request.replay,
        is_long=_is_long(request),
    )
    return EXECUTORS[options.executor_name].make(surroundings)


def _is_long(request: Request) -> bool:
    """Return True where the trials of a new run are known to take longer than short ones.

    A resumed run may have none left.
    """
    if request.before is not None:
        return False
    num_cores = cores_of_trial(request.sweep.cores_per_trial, request.here)
    trial_s = expected_trial_s(request, num_cores, request.data)
    return trial_s is not None and trial_s > SHORT_S


def make_factory(
    request: Request, data: PreparedData | None, machine: Machine, folder: Path
) -> TrialFactory:
    """Return the factory of the sweep's trials; see :func:`make_executor`."""
    sweep, options = request.sweep, request.options
    recorded = None if request.replay is None else request.replay.table.sweep
    shipped = f"shipped/{request.file.name}" if options.address else str(request.file.resolve())
    return TrialFactory(
        sweep=sweep,
        source=Source(file=shipped),
        source_hash=recorded.source_hash if recorded else source_hash(sweep.trainable),
        data=request.data,
        data_name=data.name if data else "",
        data_fingerprint=_fingerprint(data, recorded),
        folders=request.folders,
        machine=machine,
        num_cores=cores_of_trial(sweep.cores_per_trial, machine),
        isolation=Isolation(sweep.isolation),
        # This process's own: another run of the same sweep has trials with the same ids.
        scratch=folder / "scratch",
        capacity=capacity_of(request, machine),
    )


def require_nodes(executor: Executor, factory: TrialFactory) -> None:
    """Check that every node of a cluster can load the sweep, and has its data.

    Raises:
        RunDirectoryError: One of them cannot.
        ExecutorLost: The cluster has died meanwhile.
    """
    if problems := executor.problems_of_nodes(factory.needs):
        lines = "\n  ".join(problem.replace("\n", "\n    ") for problem in problems)
        raise RunDirectoryError(
            f"not every node of the cluster can run this sweep:\n  {lines}",
            "give every node the same environment, and the data under the same path; "
            "docs/clusters.md",
        )


def _fingerprint(data: PreparedData | None, recorded: SweepRecord | None) -> str:
    if recorded is not None:
        return recorded.data_fingerprint
    return data.fingerprint if data else ""


def capacity_of(request: Request, machine: Machine) -> Capacity:
    """Return how many trials run at the same time; in a resumed run as many as before.

    What a search asks for depends on it, and a resumed search must ask for the same.
    """
    if request.before is not None:
        return request.before.capacity
    nodes = [Machine(nodes=(node,)) for node in machine.nodes]
    return Capacity(
        per_node=max(_most_trials(request, node, machine) for node in nodes),
        total=_most_trials(request, machine, machine),
        interleaved_gib=_interleaved_gib(request),
    )


def _most_trials(request: Request, part: Machine, machine: Machine) -> int:
    """Return the most trials of the sweep that run at the same time on a part of the machine."""
    sweep, options = request.sweep, request.options
    one_at_a_time = EXECUTORS[options.executor_name].one_at_a_time
    if one_at_a_time or sweep.isolation is Isolation.EXCLUSIVE:
        return 1
    demand = sweep.trainable.demand_of(sweep.baseline, machine)
    num_cores = cores_of_trial(sweep.cores_per_trial, machine)
    most = machine_capacity(num_cores, part, demand)
    return min(most, options.max_concurrent or most)


def _interleaved_gib(request: Request) -> float:
    """Return half of this machine's memory; 0 on a cluster, whose nodes may have less."""
    if not request.sweep.rigor.interleaved or request.options.address:
        return 0.0
    if request.replay is not None:
        return request.replay.table.sweep.capacity.interleaved_gib
    return (node_bytes() or 0) / 2 / 2**30


def make_derived(factory: TrialFactory, record: SweepRecord) -> DerivedFigures:
    """Return what makes the figures that the sweep asks for beside those that are measured.

    A target near the best is as near as in the report. The analysis is imported where there is a
    target, since it takes a second.
    """
    trainable = factory.sweep.trainable

    def num_gpus(config: Mapping[str, Any]) -> int:
        return trainable.demand_of(trainable.config(**config), factory.machine).gpus

    target = record.target
    if target is not None:
        from orchestrator.analysis.rule import rule_of

        target = rule_of(record).target
    return DerivedFigures(target=target, prices=record.prices, num_gpus=num_gpus)


def make_search(factory: TrialFactory, judge: Judge, warm_start: WarmStart | None = None) -> Stages:
    """Return the sweep's own search with the phases before and after it.

    Where a node runs several trials at the same time, the interference check comes after the first
    of them. Then come the rest, the repeats where they can decide something, and the confirm stage.
    A factored search has repeats of its own, and isolated probes where others are checked for
    interference.
    """
    sweep = factory.sweep
    problem = (warm_start or WarmStart()).into(search_problem(sweep, factory.machine))
    search = started(sweep.search, problem)
    if sweep.stopping is not None:
        search = sweep.stopping.start(search, problem)
    judge.follow(search)
    if isinstance(search, FactoredSearch):
        confirming = _confirming_factored(factory, judge, search)
        return Stages(problem, [Searching(search), *(confirming if sweep.rigor.confirm else ())])
    enumerates = sweep.search.candidates(problem) is not None
    phases: list[Phase] = [Searching(search, enumerates=enumerates)]
    if (
        sweep.rigor.check_isolated
        and factory.capacity.per_node > 1
        and factory.isolation is Isolation.LEASED
    ):
        num_first = 2 * factory.capacity.per_node
        first = Searching(search, num_first, enumerates=enumerates)
        speed = next(o.metric for o in problem.objectives if o.bound is None)
        checking = InterferenceCheck(
            num_configs=sweep.rigor.check_isolated,
            capacity=factory.capacity.total,
            speed=speed,
            judge=judge,
        )
        phases = [first, checking, *phases]
    if sweep.rigor.max_repeats > sweep.rigor.repeats:
        phases.append(Repeating(max_runs=sweep.rigor.max_repeats, judge=judge))
    if sweep.rigor.confirm:
        may = factory.may_interleave
        phases.append(Confirming(analyses=_analyses(sweep), judge=judge, may_interleave=may))
    return Stages(problem, phases)


def _confirming_factored(
    factory: TrialFactory, judge: Judge, search: FactoredSearch
) -> list[Phase]:
    """Return a confirm stage in proportion to the search: short runs, and two whole trainings."""
    allowance = Allowance(CONFIRM_SHARE)
    confirming = Confirming(
        analyses=_analyses(factory.sweep),
        judge=judge,
        may_interleave=factory.may_interleave,
        budget=search.confirm_budget,
        allowance=allowance,
    )
    return [confirming, EndToEnd(front=search.front, allowance=allowance)]


def _analyses(sweep: Sweep[Any]) -> InterimAnalyses:
    return InterimAnalyses(
        first=sweep.rigor.confirm, last=max(sweep.rigor.confirm, sweep.rigor.max_confirm)
    )

"""The parts of a run, made from a request: its executor, its trials' factory, its search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orchestrator.data import PreparedData
from orchestrator.derived import DerivedFigures
from orchestrator.driver.analyst import Analyst, candidates_of
from orchestrator.driver.phases import capacity_of, make_phases
from orchestrator.driver.request import Request
from orchestrator.driver.trackers import StepTimes
from orchestrator.driver.trials import TrialFactory
from orchestrator.driver.warm import WarmStart
from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.execution.placement import cores_of_trial
from orchestrator.kernel.executor import SHORT_S, Executor, Needs, Source
from orchestrator.kernel.journal import Journal
from orchestrator.kernel.loop import ControlLoop
from orchestrator.kernel.parts import Gate
from orchestrator.machine import Machine
from orchestrator.provenance.source import source_hash
from orchestrator.search.own import started
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.sequence import Stages
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.problem import search_problem, target_of
from orchestrator.system.gpus import start_mps

if TYPE_CHECKING:
    from orchestrator.execution.process.fork_servers import ForkServers

_NEEDED_LATER: Final = "orchestrator.analysis.report.write"
"""Module that the driver imports while Ray starts or short trials run: it takes a second."""


# -- executors: each is imported when it is made, since Ray takes seconds, and ``--help`` must not


def make_executor(request: Request, folder: Path, trial_s: float | None) -> Executor:
    """Return the executor asked for, its fork servers already starting.

    Args:
        request: The request.
        folder: Private folder for the run's files outside its run directory.
        trial_s: Time of a whole training as far as is known, or None.
    """
    if request.replay is not None:
        return request.replay.executor(request.options.max_concurrent)
    from orchestrator.execution.inline import InlineExecutor, LocalExecutor
    from orchestrator.execution.process.fork_servers import ForkServers

    if not request.options.address and request.here.has_mps:
        sweep = request.sweep
        if sweep.trainable.demand_of(sweep.baseline, request.here).shares_gpu:
            start_mps(folder)  # before the servers, whose environment trials have
    servers = ForkServers(folder=folder)
    if request.options.address is not None:
        return _started_ray(request, servers)
    # The servers of the first trials: their imports continue while Ray is imported and starts.
    allocator = getattr(request.sweep.baseline, "allocator", "tuned")
    servers.warm([(allocator, request.sweep.trainable.imports)])
    if request.options.executor_name == "inline":
        return InlineExecutor(servers)
    # A resumed run may have no trials left.
    if trial_s is not None and trial_s > SHORT_S and request.before is None:
        return _started_ray(request, servers)
    return LocalExecutor(
        servers,
        lambda: _started_ray(request, servers),
        imports=["orchestrator.execution.ray.executor", _NEEDED_LATER],
    )


def _started_ray(request: Request, servers: ForkServers) -> Executor:
    from orchestrator.execution.ray.executor import RayExecutor
    from orchestrator.execution.ray.local_ray import CannotStart
    from orchestrator.execution.ray.runtime_env import runtime_environment

    address, stage = request.options.address, servers.folder / "shipped"
    try:
        return RayExecutor(
            servers,
            address=address,
            max_concurrent=request.options.max_concurrent,
            runtime_env=runtime_environment(request.file, stage) if address else None,
        )
    except ConnectionError as error:
        raise RunDirectoryError(
            f"--address {address}: no Ray cluster answers there: {error}",
            "start one with `ray start --head`, or leave --address out",
        ) from None
    except CannotStart as error:
        raise SweepError(
            f"Ray does not start on this machine ({error}); --executor inline goes without it"
        ) from None


# -- trials


def make_factory(
    request: Request,
    data: PreparedData | None,
    machine: Machine,
    folder: Path,
    curves_dir: Path | None = None,
) -> TrialFactory:
    """Return the factory of the sweep's trials; see :func:`make_executor`."""
    sweep, options = request.sweep, request.options
    num_cores = cores_of_trial(sweep.cores_per_trial, machine)
    capacity = capacity_of(sweep, machine, num_cores, request.max_concurrent)
    if request.before is not None:  # searches ask by it: a resumed one is to ask for the same
        capacity = request.before.capacity
    recorded = None if request.replay is None else request.replay.record
    shipped = f"shipped/{request.file.name}" if options.address else str(request.file.resolve())
    factory = TrialFactory(
        sweep=sweep,
        needs=Needs(
            source=Source(file=shipped),
            data=request.data,
            folders=request.folders,
            fingerprint=data.fingerprint if data else "",
        ),
        machine=machine,
        num_cores=num_cores,
        # This process's own: another run of the same sweep has trials with the same ids.
        scratch=folder / "scratch",
        source_hash=recorded.source_hash if recorded else source_hash(sweep.trainable),
        data_name=data.name if data else "",
        curves_dir=curves_dir,
        capacity=capacity,
        folder=folder,
        rerun=not options.no_rerun,
    )
    known = {factory.trial(e.trial.proposal).id: e for e in request.warm_start.trials()}
    return replace(factory, earlier=known)


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


def make_derived(factory: TrialFactory, record: SweepRecord) -> DerivedFigures:
    """Return the computation of the figures that are not measured: to a target, cost."""
    sweep, trainable = factory.sweep, factory.sweep.trainable

    def num_gpus(config: Mapping[str, Any]) -> float:
        return trainable.demand_of(trainable.config(**config), factory.machine).gpus

    target = None if record.target is None else target_of(sweep)
    return DerivedFigures(target=target, prices=record.prices, num_gpus=num_gpus)


# -- the search


def make_search(factory: TrialFactory, judge: Judge, warm_start: WarmStart | None = None) -> Stages:
    """Return the sweep's own search, started, with the phases before and after it."""
    sweep = factory.sweep
    problem = (warm_start or WarmStart()).into(search_problem(sweep, factory.machine))
    search = started(sweep.search, problem)
    judge.follow(search)
    phases = make_phases(
        sweep,
        problem,
        search,
        machine=factory.machine,
        capacity=factory.capacity,
        judge=judge,
        enumerates=sweep.search.candidates(problem) is not None,
    )
    return Stages(problem, phases)


def make_loop(
    factory: TrialFactory,
    record: SweepRecord,
    journal: Journal,
    gate: Gate | None = None,
    warm_start: WarmStart | None = None,
) -> tuple[ControlLoop, Stages, Analyst]:
    """Return the loop of a run with its search and the judge of this search; nothing has begun."""
    derived = make_derived(factory, record)
    analyst = Analyst(record, candidates_of(factory, record), derived)
    search = make_search(factory, analyst, warm_start)
    trials = replace(factory, derived=derived)
    return ControlLoop(trials, search, journal, [StepTimes(journal)], gate), search, analyst

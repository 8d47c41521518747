"""From a command line to the parts of a sweep, everything checked before anything starts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.data import DataFolders, DataSet, PreparedData, find_data, is_path
from orchestrator.driver.trials import TrialFactory
from orchestrator.errors import DataError, RunDirectoryError, SweepFileError
from orchestrator.execution.base import Executor, Source
from orchestrator.execution.placement import cores_of_trial, trials_at_once
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.machine import Machine
from orchestrator.provenance.source_hash import source_hash
from orchestrator.search.base import Search
from orchestrator.search.grid import Grid, combinations
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.interference import InterferenceCheck
from orchestrator.search.stages.interim_analyses import InterimAnalyses
from orchestrator.search.stages.judge import Judge
from orchestrator.search.stages.repeats import Repeating
from orchestrator.search.stages.sequence import Phase, Searching, Stages
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.loading import Overrides, apply_overrides, load_sweep, search_problem
from orchestrator.system.memory import node_bytes
from orchestrator.trial import Isolation


@dataclass(frozen=True, kw_only=True)
class Request:
    """A command line with its sweep loaded, checked and overridden.

    Attributes:
        options: The command line's values.
        file: The sweep file.
        sweep: The sweep that it holds, changed by the command line.
        folders: Where data sets live.
        dataset: The set to train on, or None for a trainable without data.
        data: Its name, a variant included, or empty.
        data_note: Set where an embedded set stands in for an absent one.
    """

    options: Namespace
    file: Path
    sweep: Sweep[Any]
    folders: DataFolders
    dataset: DataSet | None
    data: str
    data_note: str


def read_request(options: Namespace) -> Request:
    """Loads and checks everything that can be wrong before anything starts.

    Raises:
        SweepError: Something is; the message says what is allowed.
    """
    if options.sweep_file is None:
        raise SweepFileError("no sweep file given", "python -m orchestrator SWEEP.py; see --help")
    sweep = apply_overrides(
        load_sweep(options.sweep_file),
        Overrides(
            settings=tuple(options.set),
            search=options.search,
            trials=options.trials,
            seed=options.seed,
            repeats=options.repeats,
            retries=options.retries,
            cores_per_trial=options.cores_per_trial,
            isolation=options.isolation,
        ),
    )
    folders = DataFolders.default(options.data_root)
    dataset, name, note = _chosen_data(sweep, options, folders)
    return Request(
        options=options,
        file=options.sweep_file,
        sweep=sweep,
        folders=folders,
        dataset=dataset,
        data=name,
        data_note=note,
    )


def check_search(sweep: Sweep[Any], machine: Machine) -> None:
    """Checks that the sweep's search has configs to try on ``machine``.

    Raises:
        SweepFileError: The sweep's constraints exclude every config, one of them or of the
            trainable's raises, or the grid is too large.
    """
    sweep.trainable.infeasible(sweep.baseline, machine)
    problem = search_problem(sweep, machine)
    if isinstance(sweep.search, Grid):
        next(combinations(problem, sweep.search.points))


def _chosen_data(
    sweep: Sweep[Any], options: Namespace, folders: DataFolders
) -> tuple[DataSet | None, str, str]:
    """The data set to train on, its name, and a note where it is not the one meant."""
    sets = sweep.trainable.data
    if not sets and not options.data:
        return None, "", ""
    name = options.data or sweep.data or sets[0].name
    name = _with_absolute_folder(sets, name)
    dataset = find_data(sets, name)
    if options.download or dataset.present(folders):
        return dataset, name, ""
    root, here = folders.root, Path.cwd()
    shown = root.relative_to(here) if root.is_relative_to(here) else root
    missing = f"{dataset.name} is not under {shown}"
    if options.data or sweep.embedded_data is None:
        raise DataError(missing, f"to get it: {dataset.how_to_get}")
    stand_in = find_data(sets, sweep.embedded_data)
    note = (
        f"{missing}; running on {stand_in.name} instead, which is not the same data.\n"
        f"To get {dataset.name}: {dataset.how_to_get}"
    )
    return stand_in, sweep.embedded_data, note


def _with_absolute_folder(sets: Sequence[DataSet], name: str) -> str:
    """A folder that ``name`` is, or has as its variant, made absolute: trials run elsewhere."""
    if is_path(sets, name):
        return str(Path(name).expanduser().absolute())
    base, _, variant = name.partition("@")
    folder = Path(variant).expanduser().absolute()
    has_folders = any(data.name == base and not data.embedded for data in sets)
    return f"{base}@{folder}" if variant and has_folders and folder.is_dir() else name


def prepared_data(request: Request) -> PreparedData | None:
    """Checks and converts the data set, once; None for a trainable without data.

    Raises:
        DataError: It is not what it claims to be.
    """
    if request.dataset is None:
        return None
    return request.dataset.prepare(request.folders, download=request.options.download)


def make_executor(request: Request, folder: Path) -> Executor:
    """The executor asked for, its fork servers already on their way up.

    Args:
        request: What was asked for.
        folder: A private one for all that the run leaves outside its run directory.
    """
    options, trainable = request.options, request.sweep.trainable
    allocator = getattr(request.sweep.baseline, "allocator", "tuned")
    preload = [(allocator, tuple(trainable.preload))]
    if options.executor == "inline":
        from orchestrator.execution.inline import InlineExecutor

        return InlineExecutor(preload, folder=folder)
    servers = ForkServers(folder=folder)
    if not options.address:
        servers.warm(preload)  # their imports go on while Ray is imported and starts
    from orchestrator.execution.ray.executor import RayExecutor
    from orchestrator.execution.ray.runtime_env import runtime_environment

    runtime_env = None
    if options.address:
        runtime_env = runtime_environment(request.file, folder / "shipped")
    try:
        return RayExecutor(
            address=options.address,
            max_concurrent=options.max_concurrent,
            runtime_env=runtime_env,
            preload=preload,
            folder=folder,
            servers=servers,
            imports=["analysis.report.write"],
        )
    except ConnectionError as error:
        raise RunDirectoryError(
            f"--address {options.address}: no Ray cluster answers there: {error}",
            "start one with `ray start --head`, or leave --address out",
        ) from None


def make_factory(
    request: Request, data: PreparedData | None, machine: Machine, folder: Path
) -> TrialFactory:
    """What all trials of the sweep have in common; see :func:`make_executor`."""
    sweep, options = request.sweep, request.options
    shipped = options.address is not None and options.executor != "inline"
    file = f"shipped/{request.file.name}" if shipped else str(request.file.resolve())
    return TrialFactory(
        sweep=sweep,
        source=Source(file=file),
        source_hash=source_hash(sweep.trainable),
        data=request.data,
        data_name=data.name if data else "",
        data_fingerprint=data.fingerprint if data else "",
        folders=request.folders,
        machine=machine,
        num_cores=cores_of_trial(sweep.cores_per_trial, machine),
        isolation=Isolation(sweep.isolation),
        # This process's own: another run of the same sweep has trials with the same ids.
        scratch=folder / "scratch",
        time_budget_s=options.time_budget,
        at_once=_at_once(request, machine),
        num_slots=_num_slots(request, machine),
        interleaved_gib=_interleaved_gib(request),
    )


def _at_once(request: Request, machine: Machine) -> int:
    """Most trials of the sweep that run beside each other on a node."""
    before: int | None = getattr(request.options, "at_once", None)
    if before is not None:
        return before
    nodes = [Machine(nodes=(node,)) for node in machine.nodes]
    return max(_held(request, node, machine) for node in nodes)


def _num_slots(request: Request, machine: Machine) -> int:
    """The same on all nodes together."""
    before: int | None = getattr(request.options, "num_slots", None)
    return _held(request, machine, machine) if before is None else before


def _interleaved_gib(request: Request) -> float:
    """Half of this machine's memory; nothing on a cluster, whose nodes may have less."""
    options = request.options
    before: float | None = getattr(options, "interleaved_gib", None)
    if before is not None:
        return before
    if not request.sweep.interleaved or options.address:
        return 0.0
    return (node_bytes() or 0) / 2 / 2**30


def _held(request: Request, part: Machine, machine: Machine) -> int:
    """Most trials of the sweep that run at the same time on a part of the machine."""
    sweep, options = request.sweep, request.options
    if options.executor == "inline" or sweep.isolation is Isolation.EXCLUSIVE:
        return 1
    demand = sweep.trainable.demand_of(sweep.baseline, machine)
    num_cores = cores_of_trial(sweep.cores_per_trial, machine)
    held = trials_at_once(num_cores, part, demand)
    return min(held, options.max_concurrent or held)


def make_search(factory: TrialFactory, judge: Judge) -> Search:
    """The sweep's own search with the phases before and after it.

    Where trials run beside each other some of the first ones are run alone and beside others in
    turn; then comes the rest; then repeats where they tell something; then the confirm stage.
    """
    sweep = factory.sweep
    problem = search_problem(sweep, factory.machine)
    search = sweep.search.start(problem)
    phases: list[Phase] = [Searching(search)]
    if sweep.check_isolated and factory.at_once > 1 and factory.isolation is Isolation.LEASED:
        first = Searching(search, num_trials=2 * factory.at_once)
        speed = problem.objectives[0].metric
        checking = InterferenceCheck(
            num_configs=sweep.check_isolated,
            capacity=factory.num_slots,
            speed=speed,
            judge=judge,
        )
        phases = [first, checking, *phases]
    if sweep.max_repeats > sweep.repeats:
        phases.append(Repeating(max_runs=sweep.max_repeats, judge=judge))
    if sweep.confirm:
        looks = InterimAnalyses(first=sweep.confirm, last=max(sweep.confirm, sweep.max_confirm))
        may = factory.may_interleave
        phases.append(Confirming(looks=looks, judge=judge, may_interleave=may))
    return Stages(problem, phases)

"""A command line with its sweep: everything that can be wrong, checked before anything starts."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.arguments import command
from orchestrator.data import DataFolders, DataSet, PreparedData, find_data, is_path
from orchestrator.driver.options.declaration import contradictions, replay_settings
from orchestrator.driver.options.options import Options
from orchestrator.driver.warm import WarmStart, warm_start_of
from orchestrator.errors import DataError, SweepFileError, raise_all
from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.runtime_env import use_token_if_there_is_one
from orchestrator.execution.telemetry.sampler import PackageEnergy
from orchestrator.kernel.events import with_values
from orchestrator.locations import named_path, short
from orchestrator.machine import Machine
from orchestrator.metric_table import OF_GPUS
from orchestrator.provenance.environment import environment
from orchestrator.replay.setup import Replay
from orchestrator.search.own import require_start
from orchestrator.storage.runs import DEFAULT_RUNS
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.loading import load_sweep, require_modules
from orchestrator.sweep.problem import search_problem
from orchestrator.tracking.mlflow import checked_uri, default_uri
from orchestrator.tracking.mlflow.uris import HIDDEN, OPTION, in_full, shown

TRACKING_URI: Final = "MLFLOW_TRACKING_URI"
EXPERIMENT: Final = "MLFLOW_EXPERIMENT_NAME"
"""MLflow's own variables, which stand in for ``--tracking-uri`` and ``--experiment``."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A command line with its sweep loaded, checked and overridden.

    Attributes:
        options: The command line's values, those of the run that is resumed included.
        file: The sweep file.
        sweep: The sweep in this file, changed by the command line.
        folders: Where data sets live.
        here: The machine that trials run on, unless another cluster's: this one, or a simulated.
        dataset: The set to train on, or None for a trainable without data.
        data: Its name, a variant included, or empty.
        data_note: Set if an embedded set stands in for an absent one.
        before: The record of the run that is resumed, or None for a new one.
        trials: Configs to which a resumed run is extended, or None.
        replay: The recorded runs to play instead of measuring, or None.
        notes: What else to know before the first trial.
        warm_start: Results of earlier runs that the search receives first.
    """

    options: Options
    file: Path
    sweep: Sweep[Any]
    folders: DataFolders
    here: Machine
    dataset: DataSet | None = None
    data: str = ""
    data_note: str = ""
    before: SweepRecord | None = None
    trials: int | None = None
    replay: Replay | None = None
    notes: tuple[str, ...] = ()
    warm_start: WarmStart = field(default_factory=WarmStart)

    @property
    def max_concurrent(self) -> int | None:
        """Return the most trials at the same time; None for as many as there is room for."""
        is_inline = self.options.executor_name == "inline"
        return 1 if is_inline else self.options.max_concurrent


def read_request(given: Options) -> Request:
    """Load and check everything that can be wrong before data is touched or anything starts.

    Raises:
        SweepError: Something is wrong; the message names what is allowed.
    """
    raise_all(list(contradictions(given.given())))
    options, before = given.completed()
    if (file := options.sweep_file) is None:
        raise SweepFileError("no sweep file given", f"{command('SWEEP.py')}; see --help")
    if options.address:
        use_token_if_there_is_one()
    sweep = options.applied_to(load_sweep(file))
    folders = DataFolders.default(options.data_root)
    dataset: DataSet | None = None
    replay: Replay | None = None
    data = data_note = ""
    notes: Sequence[str] = ()
    if (recorded := replay_settings(options.set)).get("table") is not None:
        replay = Replay(sweep, **recorded)
        sweep, machine, notes = replay.sweep, replay.machine, replay.notes
        data = replay.record.data
        _check_search(sweep, machine)
        # A replay needs no data, and MLflow only where asked.
        options = replace(options, no_mlflow=options.tracking_uri is None)
    else:
        machine = local_machine()
        dataset, data, data_note = chosen_data(
            sweep, folders, options.data, download=options.download
        )
        if not options.address:  # another cluster's machine is known once it has answered
            require_modules(sweep.trainable)
            _check_search(sweep, machine)
            _require_counters(sweep, machine)
    if before is not None:
        known = tuple(map(with_values, before.known))
        warm_start = WarmStart(runs=before.warm_start, configs=before.earlier, known=known)
    elif options.warm_start:
        hardware = environment(file)["hardware"] if replay is None else replay.record.hardware
        warm_start = warm_start_of(options, sweep, machine, hardware)
    else:
        warm_start = WarmStart()
    return Request(
        options=_with_tracking_uri(options),
        file=file,
        sweep=sweep,
        folders=folders,
        here=machine,
        dataset=dataset,
        data=data,
        data_note=data_note,
        before=before,
        trials=None if before is None else given.trials,
        replay=replay,
        notes=(*notes, *warm_start.notes),
        warm_start=warm_start,
    )


def _require_counters(sweep: Sweep[Any], machine: Machine) -> None:
    """Check that a machine can measure the objectives of a sweep.

    Raises:
        SweepFileError: One of them needs a GPU or a counter that the machine lacks.
    """
    reported = {objective.metric for objective in sweep.trainable.reports}
    asked = {objective.metric for objective in sweep.objectives} - reported
    lacking = [f"{each} is measured on GPUs, and none is here" for each in asked & {*OF_GPUS}]
    if "energy_j" in asked:
        no_counter = "energy_j has no counter here: no GPU, and /sys/class/powercap cannot be read"
        lacking += [no_counter] * (PackageEnergy().read() is None)
    if lacking and not machine.gpus:
        hint = "leave it out, or run where it can be measured"
        raise SweepFileError(f"the sweep's objective {min(lacking)}", hint)


def _with_tracking_uri(options: Options) -> Options:
    """Return the options with MLflow's URI in full, for a resumption from another folder."""
    if options.no_mlflow:
        return options
    options = replace(options, experiment=options.experiment or os.environ.get(EXPERIMENT) or None)
    given, of_shell = options.tracking_uri, os.environ.get(TRACKING_URI)
    given_by = OPTION
    # The record of a run has its URI without secrets: the variable may contain all of it.
    if of_shell and (given is None or (HIDDEN in given and given == shown(in_full(of_shell)))):
        given, given_by = of_shell, TRACKING_URI
    uri = checked_uri(given or default_uri(DEFAULT_RUNS), given_by)
    return replace(options, tracking_uri=uri)


def _check_search(sweep: Sweep[Any], machine: Machine) -> None:
    """Check that the sweep's search has configs to try on ``machine``.

    Raises:
        SweepFileError: The sweep's constraints exclude every config, one of them or of the
            trainable's raises, the grid is too large, or a search of the user's own cannot start.
    """
    sweep.trainable.infeasible(sweep.baseline, machine)
    require_start(sweep.search, search_problem(sweep, machine))


def chosen_data(
    sweep: Sweep[Any], folders: DataFolders, given: str | None, *, download: bool
) -> tuple[DataSet | None, str, str]:
    """Return the data set to train on, its name, and a note if it is not the intended one.

    Args:
        sweep: The sweep.
        folders: Where data sets live.
        given: A set to train on instead of the sweep's, or None.
        download: True if it may be fetched.

    Raises:
        DataError: It is absent, and nothing stands in for it.
    """
    sets = sweep.trainable.data
    if not sets and not given:
        return None, "", ""
    name = _with_absolute_folder(sets, given or sweep.data or sets[0].name)
    dataset = find_data(sets, name)
    if download or dataset.present(folders):
        return dataset, name, ""
    missing = f"{dataset.name} is not under {short(folders.root)}"
    if given or sweep.embedded_data is None:
        raise DataError(missing, f"to get it: {dataset.how_to_get}")
    stand_in = find_data(sets, sweep.embedded_data)
    note = (
        f"{missing}; running on {stand_in.name} instead, which is not the same data.\n"
        f"To get {dataset.name}: {dataset.how_to_get}"
    )
    return stand_in, sweep.embedded_data, note


def _with_absolute_folder(sets: Sequence[DataSet], name: str) -> str:
    """Return ``name`` with its folder, if it has one, made absolute: trials run elsewhere."""
    if is_path(sets, name):
        return str(named_path(name, "--data").absolute())
    base, _, variant = name.partition("@")
    folder = named_path(variant, "--data").absolute()
    has_folders = any(data.name == base and not data.embedded for data in sets)
    # The variant may name one of several sets in it: NAME@FOLDER@PART.
    is_folder = folder.is_dir() or Path(str(folder).rpartition("@")[0]).is_dir()
    return f"{base}@{folder}" if variant and has_folders and is_folder else name


def prepared_data(request: Request) -> PreparedData | None:
    """Check and convert the data set, once; None for a trainable without data.

    Raises:
        DataError: It is not what it claims to be.
    """
    if request.replay is not None:
        return request.replay.data
    if request.dataset is None:
        return None
    return request.dataset.prepare(request.folders, download=request.options.download)

"""One training run outside of a sweep: trained, shown as it comes, its weights kept.

The same supervised child process as in a sweep, without Ray and without MLflow.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orchestrator.data import DataFolders, find_data, is_present, prepared
from orchestrator.errors import DataError, SweepError, refusing_os_errors
from orchestrator.execution.inline import InlineExecutor
from orchestrator.execution.placement import cores_of_trial
from orchestrator.execution.printer import Printer
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.kernel.executor import Launch, Needs, Source
from orchestrator.space.configs import values_of
from orchestrator.storage.replacing import renamed_to, replace_file
from orchestrator.sweep.definition import NODE
from orchestrator.sweep.loading import require_modules
from orchestrator.system.private_folder import private_folder
from orchestrator.trainable import Trainable
from orchestrator.trial import Budget, Isolation, Stage, Trial, TrialState, trial_id


def prepare_data(
    trainable: Trainable[Any], name: str, folders: DataFolders, *, download: bool
) -> None:
    """Make a data set ready to be read.

    Raises:
        DataError: It is unknown, or absent and not to be downloaded.
    """
    with refusing_os_errors():
        dataset = find_data(trainable.data, name)
        if not (download or is_present(dataset, folders)):
            message = f"{dataset.name} is not under {folders.root}"
            raise DataError(message, f"to get it: {dataset.how_to_get}")
        prepared(dataset, folders, download=download)


def check_save(trainable: Trainable[Any], path: Path) -> None:
    """Refuse, before anything is trained, to save what could not be saved.

    Raises:
        SweepError: The trainable keeps no checkpoints, there is such a file, or no such folder.
    """
    if not trainable.keeps_checkpoints:
        raise SweepError(
            f"{trainable.name} keeps no weights, so that there is nothing to save",
            "call run.checkpoint({'model': model.state_dict()}) after each epoch, and declare "
            "Trainable(..., keeps_checkpoints=True)",
        )
    if path.is_symlink() or path.exists():
        raise SweepError(f"--save {path}: there is such a file", "allowed: a new name")
    if not path.absolute().parent.is_dir():
        raise SweepError(f"--save {path}: there is no folder {path.absolute().parent}")


def train_once(
    trainable: Trainable[Any],
    *,
    source: Source,
    config: object,
    budget: Budget,
    folders: DataFolders,
    seed: int = 0,
    evaluate_test: bool = False,
    data: str = "",
    ceilings: bool = False,
    rerun_contaminated: bool = False,
    save: Path | None = None,
) -> int:
    """Train it and print its output, its reports, its result and where its weights are.

    Args:
        trainable: Its training function.
        source: Where a child process finds it.
        config: Its canonical config.
        budget: How long it is trained.
        folders: Where data sets live.
        seed: Seed of every random choice.
        evaluate_test: True if it is evaluated on the test split too.
        data: Name of the data set, or a folder; "" for a trainable without data.
        ceilings: True if its loader alone and its model alone are timed after it.
        rerun_contaminated: True if it is trained once more where other load contaminated it.
        save: File for the trained weights, or None.

    Returns:
        Exit code of the command: 0 once it has completed.

    Raises:
        SweepError: The config cannot run here, or the weights cannot be written.
    """
    require_modules(trainable)
    values = values_of(config)
    trial = Trial(
        id=trial_id({"config": values, "seed": seed, "process": os.getpid()}),
        stage=Stage.TRAIN,
        config=values,
        budget=budget,
        seed=seed,
        evaluate_test=evaluate_test,
    )
    folder, _ = private_folder()  # removed with its servers
    executor = InlineExecutor(servers=ForkServers(folder=folder))
    with TemporaryDirectory() as outliving:
        kept = Path(outliving) / "kept"
        try:
            machine = executor.machine()
            if reason := trainable.infeasible(config, machine):
                raise SweepError(f"this config cannot run here: {reason}")
            launch = Launch(
                trial=trial,
                needs=Needs(source=source, data=data, folders=folders, fingerprint=""),
                demand=trainable.demand_of(config, machine),
                num_cores=cores_of_trial(NODE, machine),
                isolation=Isolation.LEASED,
                preload=trainable.imports,
                scratch=folder / "scratch",
                kept_dir=None if save is None else kept,
                ceilings_from_s=0.0 if ceilings else None,
                rerun_contaminated=rerun_contaminated,
                watched=True,
            )
            printer = Printer(launch, [objective.metric for objective in trainable.reports])
            executor.run(printer)
        finally:
            executor.close()
        result = printer.result
        if save is not None and result is not None and result.state is TrialState.COMPLETED:
            if not kept.exists():
                raise SweepError(f"{trainable.name} has kept no checkpoint: nothing was saved")
            about = {
                "config": dict(trial.config),
                "trainable": trainable.name,
                "data": data,
                "seed": seed,
                "metrics": dict(result.metrics),
            }
            with refusing_os_errors("train again with another --save FILE"):
                _save(kept, save, about)
            sys.stdout.write(f"weights: {save}\n")
    return printer.exit_code


def _save(kept: Path, path: Path, about: Mapping[str, Any]) -> None:
    """Write what the trainable keeps, with what it was trained as, whole or not at all.

    A function for Ray Tune keeps a folder, which is copied as it is.
    """
    if folder := next(kept.glob("ray-*"), None):
        with renamed_to(path) as unfinished:
            shutil.copytree(folder, unfinished)
        return
    # Not at the top: it imports torch.
    from orchestrator.measurement.progress import save_weights

    replace_file(path, lambda unfinished: save_weights(kept, unfinished, about))

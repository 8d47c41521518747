"""One training run outside of a sweep: trained, shown as it comes, its weights kept.

The same supervised child process as in a sweep, without Ray and without MLflow.
"""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orchestrator.arguments import Parser, a_path, whole_number
from orchestrator.data import DataFolders, find_data
from orchestrator.errors import DataError, SweepError, refusing_os_errors
from orchestrator.execution.inline import InlineExecutor
from orchestrator.execution.placement import cores_of_trial
from orchestrator.execution.printer import Printer
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.kernel.executor import Launch, Needs, Source
from orchestrator.space.configs import values_of
from orchestrator.storage.files import renamed_to, replace_file
from orchestrator.sweep.definition import MAX_SEED, NODE
from orchestrator.sweep.loading import require_modules
from orchestrator.system.private_folder import private_folder
from orchestrator.trainable import Trainable
from orchestrator.trial import Budget, Isolation, Stage, Trial, TrialState, trial_id


def add_options(parser: Parser, *, epochs: str, save: str, data: str = "") -> None:
    """Add the options of a training; each text is the end of one's help, ``data`` all of it.

    Without ``data`` there are none for data.
    """
    parser.add_argument(
        "--epochs", metavar="N", type=whole_number(1), help=f"passes over the training data{epochs}"
    )
    parser.add_argument(
        "--seed", metavar="N", type=whole_number(0, MAX_SEED), default=0,
        help="seed of every random choice (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--save", metavar="FILE", type=a_path, help=f"keep the trained weights{save}"
    )
    parser.set_defaults(data="", data_root=None, download=False, test=True)
    parser.set_defaults(ceilings=False, retry_contaminated=False)
    if data:
        parser.add_argument("--data", help=data)
        parser.add_argument("--data-root", metavar="DIR", type=a_path, help="where data sets live")
        parser.add_argument("--download", action="store_true", help="fetch the data if absent")


def _prepare_data(
    trainable: Trainable[Any], name: str, folders: DataFolders, *, download: bool
) -> None:
    with refusing_os_errors():
        dataset = find_data(trainable.data, name)
        if not (download or dataset.present(folders)):
            message = f"{dataset.name} is not under {folders.root}"
            raise DataError(message, f"to get it: {dataset.how_to_get}")
        dataset.prepare(folders, download=download)


def _check_save(trainable: Trainable[Any], path: Path) -> None:
    """Refuse, before anything is trained, to save what could not be saved."""
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
    options: Namespace,
    *,
    source: Source,
    config: object,
    budget: Budget,
    data: str,
    folders: DataFolders,
) -> int:
    """Train it and print its output, its reports, its result and where its weights are.

    Args:
        trainable: Its training function.
        options: Those of :func:`add_options`.
        source: Where a child process finds it.
        config: Its canonical config.
        budget: How long it is trained.
        data: Name of the data set, or a folder; "" for a trainable without data.
        folders: Where data sets live.

    Returns:
        Exit code of the command: 0 once it has completed.

    Raises:
        SweepError: The config cannot run here, its data are absent, or the weights cannot be
            written.
    """
    save = options.save
    if save is not None:
        _check_save(trainable, save)
    if data:
        _prepare_data(trainable, data, folders, download=options.download)
    require_modules(trainable)
    values = values_of(config)
    trial = Trial(
        id=trial_id({"config": values, "seed": options.seed, "process": os.getpid()}),
        stage=Stage.TRAIN,
        config=values,
        budget=budget,
        seed=options.seed,
        evaluate_test=options.test,
    )
    folder = private_folder()  # removed with its servers
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
                ceilings_from_s=0.0 if options.ceilings else None,
                rerun_contaminated=options.retry_contaminated,
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
                "seed": options.seed,
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

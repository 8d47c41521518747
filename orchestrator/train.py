"""``python -m orchestrator train RUN_DIR``: train with the settings that a run recommends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.arguments import Parser, a_path
from orchestrator.data import DataFolders
from orchestrator.driver.request import chosen_data
from orchestrator.errors import RunDirectoryError, SweepFileError
from orchestrator.kernel.executor import Source
from orchestrator.provenance.source import source_hash
from orchestrator.space.configs import built, canonical, format_value, knobs_of, parse_setting
from orchestrator.standalone import add_options, train_once
from orchestrator.storage.files import RunFile, read_recommended
from orchestrator.storage.runs import last_runs
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.loading import load_sweep
from orchestrator.sweep.problem import overridden
from orchestrator.trainable import Trainable


def main(arguments: Sequence[str]) -> int:
    """Train once with the recommended config of a run, and keep the weights.

    Returns:
        0 once it has completed, 1 where it has not.

    Raises:
        SweepError: The run recommends nothing, its sweep file is gone, or has another trainable.
    """
    options = _parser().parse_args(arguments)
    run_dir: Path = options.run_dir or last_runs(1)[0]
    if run_dir.suffix == ".py":
        return _train_baseline(run_dir, options)
    record = read_sweep(run_dir)
    trainable = _trainable(record)
    config = _config(trainable, _recommended(run_dir))
    root = options.data_root or record.options.get("data_root")
    folders = DataFolders.default(Path(root) if root else None)
    options.save = options.save or run_dir / "model.pt"
    if record.source_hash not in ("", source_hash(trainable)):
        sys.stderr.write(f"NOTE: {trainable.name} has changed since that run: so may its figures\n")
    # No budget ends early: neither the sweep's nor one of another number of epochs.
    budget = replace(record.budget, half_width=None, pause_after=None, evaluated=True)
    if options.epochs is not None:
        budget = replace(budget, epochs=options.epochs, steps=None)
    return train_once(
        trainable,
        options,
        source=Source(file=record.file),
        config=config,
        budget=budget,
        data=options.data or record.data,
        folders=folders,
    )


def _train_baseline(file: Path, options: argparse.Namespace) -> int:
    """Train once with the baseline of a sweep file, changed by ``--set``."""
    sweep = overridden(load_sweep(file), settings=options.set)
    budget = replace(sweep.budget, half_width=None)
    if options.epochs is not None:
        budget = replace(budget, epochs=options.epochs, steps=None)
    folders = DataFolders.default(options.data_root)
    _, data, note = chosen_data(sweep, folders, options.data, download=options.download)
    if note:
        sys.stderr.write(f"NOTE: {note}\n")
    return train_once(
        sweep.trainable,
        options,
        source=Source(file=str(file.resolve())),
        config=canonical(sweep.baseline),
        budget=budget,
        data=data,
        folders=folders,
    )


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m orchestrator train",
        description="Trains once with the settings that a run recommends, on that run's data, and "
        "keeps the weights.",
    )
    parser.add_argument(
        "run_dir", metavar="RUN_DIR", type=a_path, nargs="?",
        help="runs/<sweep>/<time> (default: the last one); or a sweep file, whose baseline it "
        "trains",
    )  # fmt: skip
    parser.add_argument(
        "--set", metavar="KNOB=VALUE", action="append", default=[],
        help="change a knob of a sweep file's baseline",
    )  # fmt: skip
    data = "another data set, or a folder (default: the run's)"
    add_options(
        parser, epochs=" (default: as in the sweep)", save=" (default: RUN_DIR/model.pt)", data=data
    )
    return parser


def _trainable(record: SweepRecord) -> Trainable[Any]:
    """Return the trainable of the run's sweep file, which is run again for it."""
    if not Path(record.file).is_file():
        raise SweepFileError(
            f"{record.file}: the run's sweep file is not there any more",
            "put it back, or train by the trainable's own command: see the report",
        )
    sys.stderr.write(f"NOTE: train runs the code of {Path(record.file).resolve()}\n")
    trainable: Trainable[Any] = load_sweep(Path(record.file)).trainable
    if trainable.name != record.trainable:
        raise SweepFileError(
            f"{record.file}: trains {trainable.name} now, and trained {record.trainable} in the run"
        )
    return trainable


def _recommended(run_dir: Path) -> Mapping[str, Any]:
    """Return the config that the run recommends."""
    content = read_recommended(run_dir)
    if content is None:
        again = f"write it again: python -m orchestrator.analysis {run_dir}"
        raise RunDirectoryError(f"{run_dir / RunFile.RECOMMENDED}: cannot be read", again)
    if content["config"] is None:
        raise RunDirectoryError(f"{run_dir}: recommends no settings: {content.get('why', '')}")
    return dict(content["config"])


def _config(trainable: Trainable[Any], values: Mapping[str, Any]) -> object:
    """Return the canonical config of the values, each checked; new knobs have their defaults."""
    given = dict(
        parse_setting(trainable.config, f"{name}={format_value(value)}")
        for name, value in values.items()
    )
    defaults = {name: knob.default for name, knob in knobs_of(trainable.config).items()}
    return canonical(built(trainable.config, {**defaults, **given}))

"""``python -m orchestrator train RUN_DIR``: train with the settings that a run recommends."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Any

from orchestrator.arguments import Parser, a_path, command
from orchestrator.data import DataFolders
from orchestrator.driver.request import chosen_data
from orchestrator.errors import RunDirectoryError, SweepFileError
from orchestrator.kernel.executor import Source
from orchestrator.provenance.source import source_hash
from orchestrator.space.configs import canonical, format_setting, parse_setting, replaced
from orchestrator.standalone import add_options, train_once
from orchestrator.storage.files import RunFile, read_recommended
from orchestrator.storage.runs import last_runs
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.loading import load_sweep
from orchestrator.sweep.problem import overridden
from orchestrator.trainable import Trainable
from orchestrator.trial import Budget


def main(arguments: Sequence[str]) -> int:
    """Train once with the recommended config of a run, and keep the weights.

    Returns:
        0 once it has completed, 1 where it has not.

    Raises:
        SweepError: The run recommends nothing, its sweep file is gone, or has another trainable.
    """
    options = _parser().parse_args(arguments)
    given: Path = options.run_dir or last_runs(1)[0]
    trainable, file, config, budget = (_of_file if given.suffix == ".py" else _of_run)(
        given, options
    )
    # No budget ends early: neither the sweep's nor one of another number of epochs.
    budget = replace(budget, half_width=None, evaluated=True)
    if options.epochs is not None:
        budget = replace(budget, epochs=options.epochs, steps=None)
    source = Source(file=file)
    return train_once(trainable, options, source=source, config=config, budget=budget)


Asked = tuple[Trainable[Any], str, object, Budget]
"""A trainable, its sweep file, a config and its budget."""


def _of_run(run_dir: Path, options: argparse.Namespace) -> Asked:
    """Return what a run recommends; its data and its folder complete the options."""
    record = read_sweep(run_dir)
    trainable = _trainable(record, Path(record.file) if options.trust else None)
    settings = starmap(format_setting, _recommended(run_dir).items())
    values = dict(parse_setting(trainable.config, each) for each in settings)
    config = canonical(replaced(trainable.config(), values))  # new knobs have their defaults
    root = options.data_root or record.options.get("data_root")
    options.data_root = Path(root) if root else None
    options.data = options.data or record.data
    options.save = options.save or run_dir / "model.pt"
    if record.source_hash not in ("", source_hash(trainable)):
        sys.stderr.write(f"NOTE: {trainable.name} has changed since that run: so may its figures\n")
    return trainable, record.file, config, record.budget


def _of_file(file: Path, options: argparse.Namespace) -> Asked:
    """Return the baseline of a sweep file, changed by ``--set``; its data complete the options."""
    sweep = overridden(load_sweep(file), settings=options.set)
    folders = DataFolders.default(options.data_root)
    _, options.data, note = chosen_data(sweep, folders, options.data, download=options.download)
    if note:
        sys.stderr.write(f"NOTE: {note}\n")
    return sweep.trainable, str(file.resolve()), canonical(sweep.baseline), sweep.budget


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=command("train"),
        description="Trains once with the settings that a run recommends, on that run's data, and "
        "keeps the weights.",
    )
    run = "runs/<sweep>/<time> (default: the last one); or a sweep file, whose baseline it trains"
    parser.takes("run_dir", "RUN_DIR", a_path, run, nargs="?")
    parser.add_argument(
        "--set", metavar="KNOB=VALUE", action="append", default=[],
        help="change a knob of a sweep file's baseline",
    )  # fmt: skip
    parser.switch("--trust", "run the sweep file even if it is another user's, or has changed")
    data = "another data set, or a folder (default: the run's)"
    add_options(
        parser, epochs=" (default: as in the sweep)", save=" (default: RUN_DIR/model.pt)", data=data
    )
    return parser


def _trainable(record: SweepRecord, trusted: Path | None) -> Trainable[Any]:
    """Return the trainable of the run's sweep file, which is run again for it."""
    file = trusted or record.own_file(
        "put it back, or, to run what is there now, give --trust; the report has the trainable's "
        "own command"
    )
    sys.stderr.write(f"NOTE: train runs the code of {file.resolve()}\n")
    trainable: Trainable[Any] = load_sweep(file).trainable
    if trainable.name != record.trainable:
        raise SweepFileError(
            f"{record.file}: trains {trainable.name} now, and trained {record.trainable} in the run"
        )
    return trainable


def _recommended(run_dir: Path) -> Mapping[str, Any]:
    """Return the config that the run recommends."""
    content = read_recommended(run_dir)
    if content is None:
        again = f"write it again: {command(f'show {run_dir}')}"
        raise RunDirectoryError(f"{run_dir / RunFile.RECOMMENDED}: cannot be read", again)
    if content["config"] is None:
        raise RunDirectoryError(f"{run_dir}: recommends no settings: {content.get('why', '')}")
    return dict(content["config"])

"""A trainable trained once, without a sweep: ``python -m trainables.lenet --epochs 1``.

The same supervised child process as in a sweep, without Ray and without MLflow. What it prints is
shown as it comes.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from orchestrator.arguments import EXIT_WRONG_REQUEST, Parser, a_path, whole_number
from orchestrator.data import DataFolders, find_data
from orchestrator.errors import SweepError, nearest, refusing_os_errors
from orchestrator.execution.inline import InlineExecutor
from orchestrator.execution.placement import cores_of_trial
from orchestrator.execution.printer import Printer
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.kernel.executor import Launch, Needs, Source
from orchestrator.space.configs import canonical, knobs_of, values_of
from orchestrator.space.knob import Knob
from orchestrator.storage.files import renamed_to, replace_file
from orchestrator.sweep.definition import MAX_SEED, NODE
from orchestrator.sweep.loading import require_modules
from orchestrator.system.streams import outlast_readers
from orchestrator.texts import bounded_lines
from orchestrator.trainable import Trainable
from orchestrator.trial import LOAD, Budget, Isolation, Trial, TrialResult, TrialState, trial_id

_KNOB: Final = "knob "
"""Before a knob's name among the options' names: it may be called like one of them."""


def main(trainable: Trainable[Any], arguments: Sequence[str] | None = None) -> None:
    """Train once with the knobs of the command line, print the result, and exit."""
    outlast_readers()
    try:
        options = _parser(trainable).parse_args(arguments)
        with refusing_os_errors():
            sys.exit(_train(trainable, options))
    except SweepError as error:
        sys.stderr.write(f"error: {bounded_lines(str(error))}\n")
        sys.exit(EXIT_WRONG_REQUEST)
    except KeyboardInterrupt:
        sys.exit(130)


def _parser(trainable: Trainable[Any]) -> argparse.ArgumentParser:
    parser = Parser(prog=_command(trainable))
    names = ", ".join(data.name for data in trainable.data)
    data = f"{names}, or a folder (default: the first)" if names else ""
    add_options(parser, epochs=" (default: 1)", save=", with torch.save", data=data)
    parser.set_defaults(epochs=1, data=trainable.data[0].name if names else "")
    parser.takes("--steps", None, whole_number(1), "limit of optimizer steps")
    parser.switch("--test", "evaluate on the test split too")
    parser.switch("--ceilings", "then time the loader alone and the model alone")
    parser.set_defaults(test=False)
    group = parser.add_argument_group("knobs")
    for knob in knobs_of(trainable.config).values():
        flag = f"--{knob.name.replace('_', '-')}"
        if flag in parser.options:
            flag = f"--knob-{flag[2:]}"
        unit = f" [{knob.unit}]" if knob.unit else ""
        text = f"{knob.doc}{unit}; {knob.allowed}; {knob.role} (default: {knob.default})"
        group.add_argument(
            flag, dest=_KNOB + knob.name, metavar=knob.name.upper(), type=_reader(knob),
            default=knob.default, help=text.replace("%", "%%"),
        )  # fmt: skip
    return parser


def _reader(knob: Knob) -> Any:  # noqa: ANN401 - argparse's own
    def read(text: str) -> Any:  # noqa: ANN401 - the knob's own type
        try:
            return knob.checked(knob.parsed(text))
        except ValueError:
            close = nearest(text, map(str, knob.options))
            raise argparse.ArgumentTypeError(f"{text!r} is not {knob.allowed}{close}") from None

    return read


def _train(trainable: Trainable[Any], options: argparse.Namespace) -> int:
    asked = trainable.config(
        **{name: getattr(options, _KNOB + name) for name in knobs_of(trainable.config)}
    )
    config = canonical(asked)
    used, given = values_of(config), values_of(asked).items()
    if unused := [f"{name}={value}" for name, value in given if value != used[name]]:
        sys.stderr.write(f"NOTE: without effect beside the other knobs: {', '.join(unused)}\n")
    budget = Budget(epochs=options.epochs, steps=options.steps)
    return train_once(trainable, options, source=_source(trainable), config=config, budget=budget)


def _command(trainable: Trainable[Any]) -> str:
    """Return how the trainable's command is typed: as a file, or as a module."""
    is_file = trainable.train.__module__ == "__main__" and sys.modules["__main__"].__spec__ is None
    return f"python {sys.argv[0]}" if is_file else f"python -m {_source(trainable).module}"


def _source(trainable: Trainable[Any]) -> Source:
    """Return the module and the name under which a child finds ``trainable`` again."""
    module = trainable.train.__module__
    holder = sys.modules[module]
    name = next(key for key, value in vars(holder).items() if value is trainable)
    if module == "__main__":  # python FILE: Python has put its folder on the import path
        spec = holder.__spec__
        module = Path(sys.argv[0]).stem if spec is None else spec.name
    return Source(module=module, attribute=name)


# -- one training


def add_options(parser: Parser, *, epochs: str, save: str, data: str = "") -> None:
    """Add the options of a training; each text is the end of one's help, ``data`` all of it.

    Without ``data`` there are none for data.
    """
    parser.takes("--epochs", "N", whole_number(1), f"passes over the training data{epochs}")
    seed = "seed of every random choice (default: 0)"
    parser.takes("--seed", "N", whole_number(0, MAX_SEED), seed, 0)
    parser.takes("--save", "FILE", a_path, f"keep the trained weights{save}")
    parser.takes("--json", "FILE", a_path, "write the result to this file")
    parser.set_defaults(data="", data_root=None, download=False, test=True)
    parser.set_defaults(ceilings=False)
    if data:
        parser.takes("--data", None, str, data, "")
        parser.takes("--data-root", "DIR", a_path, "where data sets live")
        parser.switch("--download", "fetch the data if absent")


def _check_save(trainable: Trainable[Any], path: Path | None) -> None:
    """Refuse, before anything is trained, to save what could not be saved."""
    if path is None:
        return
    if not trainable.keeps_checkpoints:
        raise SweepError(
            f"{trainable.name} keeps no weights, so that there is nothing to save",
            "call run.checkpoint({'model': model.state_dict()}) after each epoch, and declare "
            "Trainable(..., keeps_checkpoints=True)",
        )
    if path.exists():
        raise SweepError(f"--save {path}: there is such a file", "allowed: a new name")
    if not path.absolute().parent.is_dir():
        raise SweepError(f"--save {path}: there is no folder {path.absolute().parent}")


def train_once(
    trainable: Trainable[Any],
    options: argparse.Namespace,
    *,
    source: Source,
    config: object,
    budget: Budget,
) -> int:
    """Train it and print its output, its reports, its result and where its weights are.

    Args:
        trainable: Its training function.
        options: Those of :func:`add_options`; no ``data`` for a trainable without data.
        source: Where a child process finds it.
        config: Its canonical config.
        budget: How long it is trained.

    Returns:
        Exit code of the command: 0 once it has completed.

    Raises:
        SweepError: The config cannot run here, its data are absent, or the weights cannot be
            written.
    """
    save, data, folders = options.save, options.data, DataFolders.default(options.data_root)
    _check_save(trainable, save)
    if data:
        dataset = find_data(trainable.data, data)
        prepared = dataset.prepare(folders, download=options.download)
        counts = ", ".join(f"{count:,} {name}" for name, count in prepared.facts.items())
        sys.stdout.write(f"data: {prepared.name}{counts and f' ({counts})'}\n")
    require_modules(trainable)
    values = values_of(config)
    trial = Trial(
        id=trial_id({"config": values, "seed": options.seed, "process": os.getpid()}),
        config=values,
        budget=budget,
        seed=options.seed,
        evaluate_test=options.test,
    )
    servers = ForkServers()
    executor = InlineExecutor(servers)
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
                scratch=servers.folder / "scratch",
                kept_dir=None if save is None else kept,
                ceilings_from_s=0.0 if options.ceilings else None,
                rerun=False,
                watched=True,
            )
            printer = Printer(launch, [objective.metric for objective in trainable.reports])
            executor.run(printer)
        finally:
            executor.close()
        result = printer.result
        if result is None:
            return printer.exit_code
        if options.json is not None:
            _write_json(options.json, result)
        if save is not None and result.state is TrialState.COMPLETED:
            if not kept.exists():
                raise SweepError(f"{trainable.name} has kept no checkpoint: nothing was saved")
            about = {
                "config": values, "trainable": trainable.name, "data": data,
                "seed": options.seed, "metrics": dict(result.metrics),
            }  # fmt: skip
            with refusing_os_errors("train again with another --save FILE"):
                _save(kept, save, about)
            sys.stdout.write(f"weights: {save}\n")
    return printer.exit_code


def _write_json(path: Path, result: TrialResult) -> None:
    """Write state, reason, figures and other load of a result."""
    times = {} if result.wall_s is None else {"wall_s": result.wall_s}
    about = {
        "state": result.state,
        "reason": result.reason,
        "metrics": {**times, **result.metrics},
        LOAD: result.disturbed,
    }
    path.write_text(f"{json.dumps(about)}\n", encoding="utf-8")


def _save(kept: Path, path: Path, about: Mapping[str, Any]) -> None:
    """Write what the trainable keeps, with what it was trained as, whole or not at all.

    A function for Ray Tune keeps a folder, which is copied as it is.
    """
    if folder := next(kept.glob("ray-*"), None):
        with renamed_to(path) as unfinished:
            shutil.copytree(folder, unfinished)
        return
    # Not at the top: it imports torch.
    from orchestrator.measurement.context import save_weights

    replace_file(path, lambda unfinished: save_weights(kept, unfinished, about))

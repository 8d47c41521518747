"""A trainable run on its own: ``python -m trainables.lenet --epochs 1``.

The same supervised child process as in a sweep, without Ray and without MLflow. What it prints is
shown as it comes. It is trained once, unless ``--retry-contaminated`` is given.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from orchestrator.arguments import EXIT_WRONG_REQUEST, Parser, whole_number
from orchestrator.data import DataFolders
from orchestrator.errors import SweepError, nearest, refusing_os_errors
from orchestrator.kernel.executor import Source
from orchestrator.single_run import add_options, train_once
from orchestrator.space.configs import canonical, knobs_of, values_of
from orchestrator.space.knob import Knob
from orchestrator.system.streams import outlast_readers
from orchestrator.texts import bounded_lines
from orchestrator.trainable import Trainable
from orchestrator.trial import Budget

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
    parser.add_argument("--steps", type=whole_number(1), help="limit of optimizer steps")
    parser.add_argument("--test", action="store_true", help="evaluate on the test split too")
    parser.add_argument(
        "--ceilings", action="store_true", help="then time the loader alone and the model alone"
    )
    parser.add_argument(
        "--retry-contaminated",
        action="store_true",
        help="train once more, from the beginning, if other load took part of its cores",
    )
    parser.set_defaults(test=False)
    group = parser.add_argument_group("knobs")
    for knob in knobs_of(trainable.config).values():
        flag = f"--{knob.name.replace('_', '-')}"
        if flag in parser.options:
            flag = f"--knob-{flag[2:]}"
        unit = f" [{knob.unit}]" if knob.unit else ""
        text = f"{knob.doc}{unit}; {knob.allowed}; {knob.role} (default: {knob.default})"
        group.add_argument(
            flag,
            dest=_KNOB + knob.name,
            metavar=knob.name.upper(),
            type=_reader(knob),
            default=knob.default,
            help=text.replace("%", "%%"),
        )
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
    return train_once(
        trainable,
        options,
        source=_source(trainable),
        config=config,
        budget=Budget(epochs=options.epochs, steps=options.steps),
        data=options.data,
        folders=DataFolders.default(options.data_root),
    )


def _command(trainable: Trainable[Any]) -> str:
    """Return how the trainable's command is typed: as a module, or as a file."""
    module, spec = trainable.train.__module__, sys.modules["__main__"].__spec__
    if module != "__main__":
        return f"python -m {module}"
    return f"python {sys.argv[0]}" if spec is None else f"python -m {spec.name}"


def _source(trainable: Trainable[Any]) -> Source:
    """Return the module and the name under which a child finds ``trainable`` again."""
    main_module = sys.modules["__main__"]
    module = trainable.train.__module__
    holder = main_module if module == "__main__" else sys.modules[module]
    name = next(key for key, value in vars(holder).items() if value is trainable)
    if module == "__main__" and main_module.__spec__ is not None:
        module = main_module.__spec__.name
    elif module == "__main__":  # python FILE: Python has put its folder on the import path
        module = Path(sys.argv[0]).stem
    return Source(module=module, attribute=name)

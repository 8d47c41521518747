"""The command line: arguments in, exit code out."""

from __future__ import annotations

import argparse
import re
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from orchestrator.arguments import one_of, whole_number
from orchestrator.errors import SweepError, nearest

EXIT_WRONG_REQUEST = 2
EXIT_INTERRUPTED = 130

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}


def main(arguments: Sequence[str]) -> int:
    """Runs the command line.

    Returns:
        0 where every planned trial has a row, 1 where the sweep could not finish, 2 where
        the request was wrong, 130 or 143 where it was interrupted or terminated.
    """
    options = parser().parse_args(arguments)
    _take_sweep_file(options)
    from orchestrator.driver.run import drive, print_plan

    try:
        _refuse_contradictions(options)
        return print_plan(options) if options.plan else drive(options, list(arguments))
    except SweepError as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_WRONG_REQUEST
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before anything was started\n")
        return EXIT_INTERRUPTED


def _take_sweep_file(options: Namespace) -> None:
    """From behind the settings, which take all that follows them."""
    if options.sweep_file is None and options.set and options.set[-1].endswith(".py"):
        options.sweep_file = Path(options.set[-1])
        options.set = options.set[:-1]


def _refuse_contradictions(options: Namespace) -> None:
    for one, other in (("out", "resume"), ("tracking_uri", "no_mlflow")):
        if getattr(options, one) is not None and getattr(options, other):
            flags = [f"--{name.replace('_', '-')}" for name in (one, other)]
            raise SweepError(
                f"{' and '.join(flags)} contradict each other", "leave one of them out"
            )
    if options.address and options.executor == "inline":
        raise SweepError(
            "--address and --executor inline contradict each other", "leave one of them out"
        )


def parser() -> argparse.ArgumentParser:
    """The arguments, all optional ones at None or False where they are not given."""
    made = _Parser(
        prog="python -m orchestrator",
        description="Finds which settings train a model fastest without costing accuracy.",
        argument_default=argparse.SUPPRESS,
    )
    made.set_defaults(**_DEFAULTS)
    made.add_argument(
        "sweep_file",
        metavar="SWEEP.py",
        nargs="?",
        type=Path,
        help="file with a module-level SWEEP; may be left out with --resume",
    )
    made.add_argument("--plan", action="store_true", help="print what would run, and stop")
    _add_what(made.add_argument_group("what is trained"))
    _add_how(made.add_argument_group("how it is searched"))
    _add_where(made.add_argument_group("where it runs"))
    _add_results(made.add_argument_group("what is left behind"))
    return made


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one message, without its usage."""

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message and unknown.startswith("--"):
            message += nearest(unknown.split()[0].partition("=")[0], self._option_string_actions)
        self.exit(EXIT_WRONG_REQUEST, f"error: {message}\n  see python -m orchestrator --help\n")


_DEFAULTS: dict[str, Any] = {
    "sweep_file": None, "plan": False, "data": None, "data_root": None, "download": False,
    "set": [], "search": None, "trials": None, "seed": None, "repeats": None, "retries": None,
    "time_budget": None, "max_concurrent": None, "cores_per_trial": None, "isolation": None,
    "executor": None, "address": None, "out": None, "resume": None, "tracking_uri": None,
    "no_mlflow": False,
}  # fmt: skip


def _add_what(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--data", metavar="NAME_OR_PATH", help="train on this data set instead")
    group.add_argument(
        "--data-root",
        metavar="DIR",
        type=Path,
        help="where data sets live (default: $SWEEP_DATA, else data/)",
    )
    group.add_argument("--download", action="store_true", help="fetch the data set if it is absent")
    group.add_argument(
        "--set",
        metavar="KNOB=VALUE",
        nargs="+",
        action="extend",
        help="fix a knob, in the space and in the baseline; may be repeated",
    )


def _add_how(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--search", metavar="NAME", help="grid, random, optuna or factored")
    group.add_argument("--trials", metavar="N", type=whole_number(1), help="configs to try at most")
    group.add_argument(
        "--seed", metavar="N", type=whole_number(0), help="seed of the plan and of the trials"
    )
    group.add_argument("--repeats", metavar="N", type=whole_number(1), help="runs of every config")
    group.add_argument(
        "--retries",
        metavar="N",
        type=whole_number(0),
        help="how often a failed trial is tried again",
    )
    group.add_argument(
        "--time-budget",
        metavar="30m",
        type=_duration_s,
        help="start no trial after it; the rest are rows not_run",
    )


def _add_where(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--max-concurrent", metavar="N", type=whole_number(1), help="most trials at the same time"
    )
    group.add_argument(
        "--cores-per-trial",
        metavar="N",
        type=whole_number(1),
        help="cores of every trial (default: the sweep's, else the node)",
    )
    group.add_argument(
        "--isolation",
        metavar="NAME",
        type=one_of("exclusive", "leased", "shared"),
        help="how far trials are kept from each other: exclusive, leased or shared",
    )
    group.add_argument(
        "--executor",
        metavar="NAME",
        type=one_of("ray", "inline"),
        help="ray: Ray Tune, or inline: one trial after the other without it (default: ray)",
    )
    group.add_argument("--address", metavar="ADDR", help="use this existing Ray cluster")


def _add_results(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--out", metavar="DIR", type=Path, help="run directory (default: runs/<sweep>/<time>)"
    )
    group.add_argument("--resume", metavar="DIR", type=Path, help="go on with an interrupted run")
    group.add_argument(
        "--tracking-uri",
        metavar="URI",
        help="MLflow (default: an sqlite file under the runs folder)",
    )
    group.add_argument("--no-mlflow", action="store_true", help="do not write to MLflow")


def _duration_s(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if found is None or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 90s, 30m or 2h")
    return float(found[1]) * _UNITS_S[found[2] or "s"]

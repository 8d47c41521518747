"""The commands that ask a finished run, or compare two: their arguments."""

import argparse
from collections.abc import Sequence
from typing import Any, Final

from orchestrator.arguments import Parser, a_path, command
from orchestrator.rules import TOLERANCE
from orchestrator.storage.runs import last_runs

COMMANDS: Final = {
    "show": "Print a run's answer and front, and write its report and tables again.",
    "front": "Print the configs that no other one beats, by figures of your choice.",
    "export": "Write a run's tables as CSV or Parquet.",
    "open": "Open a run's report in the browser, or print its path where there is none.",
    "compare": (
        "Compare two runs of a sweep config by config, in speed and in accuracy, stage by stage: "
        "the change that all configs have in common, and each config's own. The first line is the "
        "verdict: regression, improvement, no change beyond the tolerance, or not decided. A "
        "regression is shown where its 95 % interval lies beyond the tolerance, by Holm's "
        "correction over all changes. Exit code 1: a regression is shown; 0: none is."
    ),
}
"""Each command with its description."""


def _parser(name: str) -> Parser:
    """Return the parser of a command."""
    parser = Parser(prog=command(name), description=COMMANDS[name])

    def add(names: str, argument: str, help: str, **settings: Any) -> None:  # noqa: ANN401
        if name in names.split():
            parser.add_argument(argument, help=help, **settings)

    run = "folder of a run: runs/SWEEP/TIME (default: the last one)"
    add("show front export open", "run", run, metavar="RUN_DIR", nargs="?")
    first = "run that changes are counted from (default: the last two of a sweep)"
    add("compare", "run", first, metavar="FIRST", nargs="?")
    add("compare", "second", "the other run", metavar="SECOND", nargs="?")
    add("show", "--out", "write the files there (default: RUN_DIR)", metavar="DIR", type=a_path)
    add(
        "front",
        "--objectives",
        "one to three figures of the table (default: the sweep's own). Rates and accuracies are "
        "maximised, times, memory and losses minimised; write maximize:NAME or minimize:NAME for "
        "another direction",
        metavar="NAME,NAME",
    )
    add("export", "--format", "csv (default) or parquet", metavar="NAME", default="csv")
    add("export", "--out", "write there (default: RUN_DIR/export)", metavar="DIR", type=a_path)
    add(
        "compare",
        "--tolerance",
        "share of the speed that may be lost before that is a regression (default: "
        f"{TOLERANCE}, which is {100 * TOLERANCE:g} %%). That of the accuracy is the sweep's",
        metavar="SHARE",
        type=float,
        default=TOLERANCE,
    )
    across = (
        "compare although the runs differ in KEY, because that is what is being compared: "
        "versions.torch, say; may be given several times"
    )
    add("compare", "--across", across, metavar="KEY", action="append", default=[])
    parser.switch("--json", "print one JSON document and nothing else")
    return parser


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; ends the program where it is wrong."""
    parser = _parser(words[0])
    options = parser.parse_args(words[1:])
    if words[0] == "compare" and options.run is not None and options.second is None:
        parser.error("the following arguments are required: SECOND")
    return options


def main(words: Sequence[str]) -> int:
    """Run a command and return its exit code.

    Args:
        words: The command and its arguments.

    Returns:
        0; 1 if ``compare`` has found a regression; 2 if a document cannot be written.

    Raises:
        SweepError: The request is wrong.
    """
    options = parse(words)
    if options.run is None:
        names = ("run", "second") if words[0] == "compare" else ("run",)
        for name, run in zip(names, last_runs(len(names)), strict=True):
            setattr(options, name, str(run))
    from orchestrator.analysis.commands import ACTIONS  # pandas takes a second

    return ACTIONS[words[0]](options)

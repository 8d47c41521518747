"""``python -m orchestrator.analysis``: query a finished run, or compare two."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from orchestrator.arguments import EXIT_WRONG_REQUEST, Parser, a_path, command
from orchestrator.errors import SweepError, nearest, refusing_os_errors
from orchestrator.storage.runs import last_runs
from orchestrator.texts import bounded_lines

EXIT_INTERRUPTED: Final = 130

COMMANDS: Final = {
    "show": "print a run's answer and front, and write its report and tables again",
    "front": "the configs that no other one beats, by figures of your choice",
    "export": "write a run's tables as CSV or Parquet",
    "open": "open a run's report in the browser, or print its path where there is none",
    "compare": "compare two runs; exits with 1 where a regression is shown",
}
"""Each command with its line of help."""

_TOLERANCE: Final = 0.03
"""As :data:`orchestrator.analysis.comparison.changes.TOLERANCE`, which is slow to import."""

_COMPARE: Final = (
    "Compare two runs of a sweep config by config, in speed and in accuracy, stage by stage: the "
    "change that all configs have in common, and each config's own. The first line is the verdict: "
    "regression, improvement, no change beyond the tolerance, or not decided. A regression is "
    "shown where its 95 % interval lies beyond the tolerance, by Holm's correction over all "
    "changes. Exit code 1: a regression is shown; 0: none is."
)


def _parser() -> tuple[Parser, Mapping[str, argparse.ArgumentParser]]:
    """Return the parser of a command line, and that of each command."""
    parser = Parser(
        prog="python -m orchestrator.analysis",
        usage="python -m orchestrator.analysis [COMMAND] RUN_DIR [options]",
        description="Ask a finished run: what to set, how much faster that is, and how sure.",
        epilog="RUN_DIR is the folder that a run printed, runs/SWEEP/TIME. Without a command it "
        "is shown. COMMAND --help has the options of each. Exit codes: 0 done, 1 compare has "
        "found a regression, 2 the request was wrong.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        described = _COMPARE if name == "compare" else f"{text[0].upper()}{text[1:]}."
        own = commands.add_parser(name, prog=command(name), help=text, description=described)
        own.set_defaults(command=name)
    return parser, commands.choices


def _options() -> tuple[Parser, Mapping[str, argparse.ArgumentParser]]:
    """Return the parsers with their arguments."""
    parser, commands = _parser()

    def add(names: str, argument: str, help: str, **settings: Any) -> None:  # noqa: ANN401
        for name in names.split():
            commands[name].add_argument(argument, help=help, **settings)

    run = "folder of a run: runs/SWEEP/TIME (default: the last one)"
    add("show front export open", "run", run, metavar="RUN_DIR", nargs="?")
    first = "run that changes are counted from (default: the last two of a sweep)"
    add("compare", "run", first, metavar="FIRST", nargs="?")
    add("compare", "second", "the other run", metavar="SECOND", nargs="?")
    out = "write the files there (default: RUN_DIR)"
    add("show", "--out", out, metavar="DIR", type=a_path)
    add(
        "front",
        "--objectives",
        "one to three figures of the table (default: the sweep's own). Rates and accuracies are "
        "maximised, times, memory and losses minimised; write maximize:NAME or minimize:NAME for "
        "another direction",
        metavar="NAME,NAME",
    )
    add("export", "--format", "csv (default) or parquet", metavar="NAME", default="csv")
    out = "folder to write to (default: export in RUN_DIR)"
    add("export", "--out", out, metavar="DIR", type=a_path)
    add(
        "compare",
        "--tolerance",
        "share of the speed that may be lost before that is a regression (default: "
        f"{_TOLERANCE}, which is {100 * _TOLERANCE:g} %%). That of the accuracy is the sweep's",
        metavar="SHARE",
        type=float,
        default=_TOLERANCE,
    )
    across = (
        "compare although the runs differ in KEY, because that is what is being compared: "
        "versions.torch, say; may be given several times"
    )
    add("compare", "--across", across, metavar="KEY", action="append", default=[])
    json = "print one JSON document and nothing else"
    add("show front export open compare", "--json", json, action="store_true")
    return parser, commands


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; ends the program where it is wrong.

    A run directory without a command is shown.
    """
    parser, commands = _options()
    first = words[0] if words else ""
    if first in ("-h", "--help"):
        parser.parse_args(words)
    if first not in COMMANDS:
        close = nearest(first, COMMANDS)
        if close and not Path(first).exists():
            parser.error(f"{first!r} is neither a command nor a folder{close}")
        words = ["show", *words]
    options = commands[words[0]].parse_args(words[1:])
    if options.command == "compare" and options.run is not None and options.second is None:
        commands["compare"].error("the following arguments are required: SECOND")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Returns:
        0; 1 if ``compare`` has found a regression; 2 if the request was wrong, or a document
        cannot be written; 130 if it was interrupted.
    """
    options = parse(list(sys.argv[1:] if arguments is None else arguments))
    try:
        with refusing_os_errors():
            if options.run is None:
                names = ("run", "second") if options.command == "compare" else ("run",)
                for name, run in zip(names, last_runs(len(names)), strict=True):
                    setattr(options, name, str(run))
            from orchestrator.analysis.commands import ACTIONS  # pandas takes a second

            return ACTIONS[options.command](options)
    except SweepError as error:
        print(f"error: {bounded_lines(str(error))}", file=sys.stderr)
        return EXIT_WRONG_REQUEST
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    from orchestrator.system.streams import outlast_readers

    outlast_readers()
    code = main()
    sys.stdout.flush()
    sys.exit(code)

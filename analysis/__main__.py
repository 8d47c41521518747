"""``python -m analysis``: a run's report and recommendation again, or two runs compared."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 where the request was wrong."""
    from orchestrator.errors import SweepError, refusing_os_errors

    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with refusing_os_errors():
            return _compare(words[1:]) if words[:1] == ["compare"] else _report(words)
    except SweepError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _report(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Write front.csv, recommended.json, report.html and front.png again from the "
        "tables of a run, and print the front and the recommendation.",
        epilog="To compare two runs config by config: python -m analysis compare RUN_DIR RUN_DIR",
    )
    parser.add_argument("run_dir", metavar="RUN_DIR", type=Path, help="runs/<sweep>/<time>")
    options = parser.parse_args(words)

    # pandas takes a second to import: only once it is known what is asked.
    from analysis.report.console import show_run
    from analysis.report.write import write_all
    from analysis.tables.load import load_run

    tables = load_run(options.run_dir)
    recommendation = write_all(tables, options.run_dir)
    show_run(tables, recommendation, options.run_dir)
    return 0


def _compare(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m analysis compare",
        description="Compare the speeds of two runs config by config: the change that all have in "
        "common, and each config's own change beyond it. A change of its own is shown only "
        "where it is significant over all configs together (5 %%, Holm's correction).",
    )
    parser.add_argument(
        "first", metavar="RUN_DIR", type=Path, help="the run that ratios are relative to"
    )
    parser.add_argument("second", metavar="RUN_DIR", type=Path, help="the other run")
    parser.add_argument(
        "--across",
        metavar="KEY",
        action="append",
        default=[],
        help="compare although the runs differ in KEY, because that is what is being compared: "
        "versions.torch, say; may be given several times",
    )
    parser.add_argument(
        "--again",
        metavar="RUN_DIR",
        nargs=2,
        type=Path,
        action="append",
        default=[],
        help="two more runs of the same two versions, from another session; may be given several "
        "times. One pair of runs cannot tell the host on the day from a change between the "
        "versions, several pairs can",
    )
    options = parser.parse_args(words)

    from analysis.comparison.sessions import compare_sessions
    from analysis.report.console import show_comparison
    from analysis.tables.load import load_run

    pairs = [
        (load_run(first), load_run(second))
        for first, second in [(options.first, options.second), *options.again]
    ]
    show_comparison(compare_sessions(pairs, across=options.across), pairs[0][0].sweep)
    return 0


if __name__ == "__main__":
    from orchestrator.system.streams import outlast_readers

    outlast_readers()
    sys.exit(main())

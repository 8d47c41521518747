"""Bad requests: each is refused in one message with exit code 2, and leaves nothing behind.

python -m benchmarks.reliability.bad_requests
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.reliability.forked import Ended, command, preload
from benchmarks.reliability.made_trials import make_trials_up
from benchmarks.reliability.request_cases import Request, all_requests
from benchmarks.reliability.table import Counts, table
from benchmarks.side_by_side import environment_lines

EXIT_WRONG_REQUEST: Final = 2
MOST_CHARACTERS: Final = 4_000
"""Of a message: more is not read."""


def outcome(request: Request, folder: Path) -> tuple[Ended, Counts]:
    """Make a request in an empty folder."""
    (folder / "sweep.py").write_text(request.file)
    words = ["sweep.py", *request.arguments]
    if not request.arguments:
        words += ["--executor", "inline", "--no-mlflow"]
    ended = command(words, folder=folder, timeout_s=60, before=make_trials_up)
    left = {path.name for path in folder.iterdir()} - {"sweep.py", "output.txt", "__pycache__"}
    well = (
        ended.code == EXIT_WRONG_REQUEST
        and ended.output.startswith("error: ")
        and len(ended.output) < MOST_CHARACTERS
    )
    counts = Counts(
        rounds=1,
        hung=int(ended.code is None),
        tracebacks=int(ended.has_traceback),
        leaks=int(bool(left)),
        wrong=int(not well and ended.code is not None and not ended.has_traceback),
    )
    return ended, counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something went wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability.bad_requests")
    parser.add_argument("--num", type=int, help="requests, drawn at random; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a request's kind or name")
    options = parser.parse_args(arguments)
    preload("optuna")
    totals: dict[str, Counts] = defaultdict(Counts)
    requests = [each for each in all_requests() if options.only in f"{each.kind} {each.name}"]
    if options.num is not None:
        requests = Random(options.seed).sample(requests, min(options.num, len(requests)))
    with tempfile.TemporaryDirectory(prefix="requests-") as scratch:
        for number, request in enumerate(requests):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            ended, counts = outcome(request, folder)
            totals[request.kind] += counts
            if not counts.is_clean:
                text = f"-- {request.kind}: {request.name}: {ended.code}\n{ended.output[-1500:]}\n"
                sys.stderr.write(text.encode(errors="backslashreplace").decode())
            shutil.rmtree(folder)
    print("\n".join(environment_lines("ray", "pandas")), end="\n\n")
    print(table(totals.items(), first="request"))
    total = sum(totals.values(), Counts())
    print(f"\n{total.rounds} bad requests")
    return 0 if total.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())

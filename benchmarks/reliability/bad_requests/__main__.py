"""Bad requests: each is refused in one message with exit code 2, and leaves nothing behind.

    python -m benchmarks.reliability.bad_requests

Those of strangers, which are only odd, may be answered as well: by what was asked for.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.reliability.bad_requests.cases import Request, all_requests
from benchmarks.reliability.bad_requests.classes import requests_of_classes
from benchmarks.reliability.bad_requests.commands import requests_of_commands
from benchmarks.reliability.bad_requests.files import requests_of_files
from benchmarks.reliability.bad_requests.odd import requests_that_are_odd
from benchmarks.reliability.bad_requests.paths import requests_of_paths
from benchmarks.reliability.forked import Ended, command, preload
from benchmarks.reliability.made_trials import make_trials_up, write_sweep
from benchmarks.reliability.table import Counts, table
from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser

EXIT_WRONG_REQUEST: Final = 2
MOST_CHARACTERS: Final = 4_000
"""Of a message: more is not read."""


def outcome(request: Request, folder: Path) -> tuple[Ended, Counts]:
    """Make a request in an empty folder."""
    file = (
        request.file.encode("utf-8", "surrogatepass")
        if isinstance(request.file, str)
        else request.file
    )
    (folder / "sweep.py").write_bytes(file)
    words = [*["sweep.py"] * request.names_file, *request.arguments]
    if not request.arguments and request.module == "orchestrator.cli":
        words += ["--executor", "inline", "--no-mlflow"]
    if request.prepare is not None:
        request.prepare(folder)
    there = {path.name for path in folder.iterdir()} | {"output.txt", "__pycache__"}
    ended = command(
        words,
        folder=folder,
        timeout_s=120,
        before=make_trials_up,
        module=request.module,
        env={"HOME": str(folder / "home")},
    )
    left = {path.name for path in folder.iterdir()} - there
    counts = Counts(
        rounds=1,
        hung=int(ended.code is None),
        tracebacks=int(ended.has_traceback),
        leaks=int(bool(left) and not (request.leaves or ended.code in (0, 3))),
        wrong=int(not _well(request, ended) and ended.code is not None and not ended.has_traceback),
    )
    return ended, counts


def _well(request: Request, ended: Ended) -> bool:
    """Return True if it was answered as it should be, or refused in one message."""
    if ended.code not in request.codes:
        return False
    if ended.code != EXIT_WRONG_REQUEST:
        return True
    message = ended.output[max(ended.output.find("error: "), 0) :]
    before = ended.output.removesuffix(message).splitlines()
    is_first = request.leaves or all(line.startswith("NOTE: ") for line in before)
    is_first = is_first or request.codes != (EXIT_WRONG_REQUEST,)
    return is_first and message.startswith("error: ") and len(message) < MOST_CHARACTERS


def _finished_run(folder: Path) -> Path:
    """Return a finished run in ``folder``."""
    words: list[str | Path] = [
        write_sweep(folder),
        "--out",
        folder / "run",
        "--no-mlflow",
        "--executor",
        "inline",
    ]
    command(words, folder=folder, before=make_trials_up)
    return folder / "run"


def _all(finished: Path) -> Iterator[Request]:
    yield from all_requests()
    yield from requests_of_files()
    yield from requests_of_classes()
    yield from requests_of_paths()
    yield from requests_of_commands(finished)
    yield from requests_that_are_odd(finished)


def _counted(request: Request, folder: Path) -> Counts:
    """Return what came of a request; write out what is wrong."""
    folder.mkdir()
    ended, counts = outcome(request, folder)
    if not counts.is_clean:
        text = f"-- {request.kind}: {request.name}: {ended.code}\n{ended.output[-1500:]}\n"
        sys.stderr.write(text.encode(errors="backslashreplace").decode())
    shutil.rmtree(folder, ignore_errors=True)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something went wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.bad_requests")
    parser.add_argument("--num", type=int, help="requests, drawn at random; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a kind or name; several with | between")
    parser.add_argument("--skip", type=int, default=0, help="so many of the first have run before")
    parser.add_argument("--part", default="1/1", help="2/8: each eighth one, from the second")
    options = parser.parse_args(arguments)
    preload("optuna", "orchestrator.analysis.__main__", "orchestrator.analysis.commands.show")
    totals: dict[str, Counts] = defaultdict(Counts)
    with tempfile.TemporaryDirectory(prefix="requests-") as scratch:
        requests = [
            each
            for each in _all(_finished_run(Path(scratch)))
            if any(part in f"{each.kind} {each.name}" for part in options.only.split("|"))
        ]
        first, step = (int(word) for word in options.part.split("/"))
        requests = requests[options.skip :][first - 1 :: step]
        if options.num is not None:
            requests = Random(options.seed).sample(requests, min(options.num, len(requests)))
        with suppress(KeyboardInterrupt):  # what has run by then is counted
            for number, request in enumerate(requests):
                totals[request.kind] += _counted(request, Path(scratch) / str(number))
    print("\n".join(environment_lines("ray", "pandas")), end="\n\n")
    print(table(totals.items(), first="request", without=("lost", "repeated")))
    total = sum(totals.values(), Counts())
    print(f"\n{total.rounds} bad requests")
    return 0 if total.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())

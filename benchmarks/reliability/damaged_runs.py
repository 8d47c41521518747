"""Damages of a run directory: each is refused, or the run goes on and has lost nothing.

    python -m benchmarks.reliability.damaged_runs

The journal, ``sweep.json`` and ``steps.jsonl`` of an interrupted run are damaged before it is
resumed, and the tables of a finished one before it is analysed.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import pandas as pd

from benchmarks.reliability.damages import OF_ANY_FILE, Damage
from benchmarks.reliability.forked import Ended, command, preload
from benchmarks.reliability.made_trials import MOST, NUM_TRIALS, make_trials_up, write_sweep
from benchmarks.reliability.table import Counts, table
from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser

JOURNAL, RECORD, STEPS = "journal.jsonl", "sweep.json", "steps.jsonl"
TABLES: Final = ("trials.parquet", "curves.parquet", "steps.parquet", "recommended.json")
WRONG: Final[tuple[Any, ...]] = (
    None, True, -1, 1.5, 2**70, 10**400, "", "text", "\ud800", [], [1], {}, {"a": 1}, float("nan"),
    float("inf"), 1e300, "9" * 100,
)  # fmt: skip
"""Values of other types, and of the right ones beyond all sense."""


def _lines(change: Callable[[list[bytes], Random], list[bytes]]) -> Damage:
    def damage(path: Path, rng: Random) -> None:
        path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True), rng)))

    return damage


def _without(lines: list[bytes], rng: Random) -> list[bytes]:
    lines.pop(rng.randrange(len(lines)))
    return lines


def _twice(lines: list[bytes], rng: Random) -> list[bytes]:
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return lines


def _swapped(lines: list[bytes], rng: Random) -> list[bytes]:
    one, two = rng.sample(range(len(lines)), 2)
    lines[one], lines[two] = lines[two], lines[one]
    return lines


def _cut(lines: list[bytes], _rng: Random) -> list[bytes]:
    return [*lines[:-1], lines[-1][:-1]]


def _wrong_value(path: Path, rng: Random) -> None:
    """Put a wrong value into one of the objects of a file, whose syntax stays right."""
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    number = rng.randrange(len(lines))
    content = json.loads(lines[number])
    places = list(_places(content))
    holder, key = rng.choice(places)
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice(WRONG)
    lines[number] = json.dumps(content)
    path.write_text("\n".join([*lines, ""]))


def _places(content: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - JSON
    """Yield each value's holder, and its key or its index there."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(pairs):
        yield content, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


OF_LINES: Final[dict[str, Damage]] = {
    "a line less": _lines(_without), "a line twice": _lines(_twice),
    "lines swapped": _lines(_swapped), "its last end cut off": _lines(_cut),
    "an empty line": _lines(lambda lines, _rng: [*lines, b"\n"]),
    "carriage returns": _lines(lambda lines, _rng: [b"\r\n".join(lines)]),
    "a mark of byte order": _lines(lambda lines, _rng: [b"\xef\xbb\xbf", *lines]),
}  # fmt: skip


def _wrong_column(path: Path, rng: Random) -> None:
    """Put wrong values into a column of a table, or leave it out."""
    frame = pd.read_parquet(path)
    column = rng.choice(list(frame.columns))
    if rng.random() < 0.2:
        frame = frame.drop(columns=column)
    else:
        wrong: list[Any] = [1, "text", 1.5, True, pd.Timestamp(0), -1]
        frame[column] = rng.choice(wrong)
    frame.to_parquet(path)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A damage of a file of a run directory."""

    file: str
    name: str
    damage: Damage


def cases(rng: Random, *, journals: int, records: int, tables: int) -> Iterator[Case]:
    """Yield so many damages of journals (a part of them of the times of steps), and so on."""
    for number in range(journals):
        kinds = {**OF_ANY_FILE, **OF_LINES}
        file = STEPS if number % 10 == 9 else JOURNAL
        name = "a wrong value" if number % 2 else rng.choice(list(kinds))
        yield Case(file=file, name=name, damage=kinds.get(name, _wrong_value))
    for number in range(records):
        name = rng.choice(list(OF_ANY_FILE)) if number % 4 == 3 else "a wrong value"
        yield Case(file=RECORD, name=name, damage=OF_ANY_FILE.get(name, _wrong_value))
    for number in range(tables):
        file = TABLES[number % len(TABLES)]
        wrong = _wrong_value if file.endswith(".json") else _wrong_column
        name = rng.choice(list(OF_ANY_FILE)) if number % 2 else "a wrong value"
        yield Case(file=file, name=name, damage=OF_ANY_FILE.get(name, wrong))


def resumed(run: Path, folder: Path) -> tuple[Ended, Counts]:
    """Resume a damaged run; see that what its journal held is there, and nothing is missing."""
    journal = run / JOURNAL
    before = journal.read_bytes() if journal.is_file() and not journal.is_symlink() else b""
    ended = command(
        [folder / "made.py", "--resume", run, "--executor", "inline"],
        folder=folder, before=make_trials_up,
    )  # fmt: skip
    after = journal.read_bytes() if journal.is_file() and not journal.is_symlink() else b""
    kept = before[: before.rfind(b"\n") + 1]
    refused = ended.code == 2 and "error: " in ended.output
    num_lost = int(not after.startswith(before if refused else kept))
    num_repeated = 0
    if ended.code in (0, 3):
        finished = Counter(
            event["trial_id"]
            for event in map(json.loads, after.splitlines())
            if event["event"] == "finished"
        )
        num_lost += NUM_TRIALS - len(pd.read_parquet(run / "trials.parquet"))
        num_repeated = sum(count > 1 for count in finished.values())
    return ended, _counts(ended, well=refused or ended.code in (0, 3)) + Counts(
        lost=num_lost, repeated=num_repeated
    )


def analysed(run: Path, folder: Path) -> tuple[Ended, Counts]:
    """Ask a damaged run for its report."""
    ended = command([run], folder=folder, module="orchestrator.analysis.__main__")
    return ended, _counts(ended, well=ended.code == 0 or ended.output.startswith("error: "))


def _counts(ended: Ended, *, well: bool) -> Counts:
    return Counts(
        rounds=1,
        hung=int(ended.code is None),
        tracebacks=int(ended.has_traceback),
        wrong=int(not well and ended.code is not None and not ended.has_traceback),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something went wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.damaged_runs")
    parser.add_argument("--journals", type=int, default=100, help="default %(default)s")
    parser.add_argument("--records", type=int, default=60, help="default %(default)s")
    parser.add_argument("--tables", type=int, default=60, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    preload("orchestrator.analysis.__main__", "orchestrator.analysis.commands.show")
    codes: Counter[int | None] = Counter()
    totals = dict.fromkeys((JOURNAL, STEPS, RECORD, *TABLES), Counts())
    with tempfile.TemporaryDirectory(prefix="damaged-") as scratch:
        folder = Path(scratch)
        runs = {"interrupted": folder / "interrupted", "whole": folder / "whole"}
        write_sweep(folder)
        for name, most in {"interrupted": "5", "whole": "1000"}.items():
            words: list[str | Path] = [folder / "made.py", "--out", runs[name], "--no-mlflow"]
            words += ["--executor", "inline"]
            command(words, folder=folder, before=make_trials_up, env={MOST: most})
        rng = Random(options.seed)
        counts_of = {"journals": options.journals, "records": options.records}
        for case in cases(rng, tables=options.tables, **counts_of):
            run = folder / "run"
            is_table = case.file in TABLES
            shutil.copytree(runs["whole" if is_table else "interrupted"], run)
            case.damage(run / case.file, rng)
            (folder / "output.txt").unlink(missing_ok=True)
            ended, counts = analysed(run, folder) if is_table else resumed(run, folder)
            totals[case.file] += counts
            codes[ended.code] += 1
            if not counts.is_clean:
                text = (
                    f"-- {case.file}: {case.name}: {ended.code}, {counts}\n{ended.output[-1800:]}\n"
                )
                sys.stderr.write(text)
            shutil.rmtree(run)
    print("\n".join(environment_lines("pandas", "pyarrow")), end="\n\n")
    print(table(totals.items(), first="file", without=("leaks",)))
    refused, went_on = codes[2], codes[0] + codes[3]
    print(f"\n{refused} refused, {went_on} went on or were analysed")
    return 0 if sum(totals.values(), Counts()).is_clean else 1


if __name__ == "__main__":
    sys.exit(main())

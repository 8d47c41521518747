"""Damages of data folders: each is refused with the file's name, or has changed nothing.

python -m benchmarks.reliability.damaged_data
"""

from __future__ import annotations

import importlib
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.reliability.damaged_data.data_sets import SETS
from benchmarks.reliability.damaged_data.set_changes import Change
from benchmarks.reliability.damaged_data.set_damages import SET_DAMAGES
from benchmarks.reliability.damages import OF_A_TABLE, OF_ANY_FILE, Damage
from benchmarks.reliability.forked import Ended, command, preload
from benchmarks.reliability.made_trials import make_trials_up
from benchmarks.reliability.table import Counts, table
from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser

EXIT_WRONG_REQUEST: Final = 2
MOST_BYTES: Final = 3 * 2**30
"""Memory of a command: the sets take a few kB."""
SWEEP: Final = """
from orchestrator import Sweep, Trainable, choice, knobs, learning
from trainables.{module} import {name} as whole


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")


def train(config, run):
    raise AssertionError("its trials are made up")


SWEEP = Sweep(
    Trainable(train, Config, data=whole.data, preload=(), name="made"), question="Is it read?",
    space=Config(lr=choice(0.1, 0.2)), confirm=0, max_confirm=0, max_repeats=1, check_isolated=0,
)
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A damage of a file of a set.

    Attributes:
        trainable: Its trainable.
        file: The file, relative to the set's folder.
        name: The damage's.
        damage: The damage.
    """

    trainable: str
    file: Path
    name: str
    damage: Damage


def set_cases() -> Iterator[Case]:
    """Yield each damage of a whole set."""
    for trainable, changes in SET_DAMAGES.items():
        for name, change in changes.items():
            yield Case(trainable=trainable, file=Path(), name=name, damage=_of_the_set(change))


def _of_the_set(change: Change) -> Damage:
    def damage(folder: Path, _rng: Random) -> None:
        change(folder)

    return damage


def all_cases(pristine: Path) -> Iterator[Case]:
    """Yield each damage of each file of the sets in ``pristine``."""
    for trainable in SETS:
        home = pristine / trainable
        for path in sorted(each for each in home.rglob("*") if each.is_file()):
            of_table = OF_A_TABLE if path.name.endswith(".csv.gz") else {}
            for name, damage in {**OF_ANY_FILE, **of_table}.items():
                yield Case(
                    trainable=trainable, file=path.relative_to(home), name=name, damage=damage
                )


def outcome(case: Case, pristine: Path, folder: Path, rng: Random) -> tuple[Ended, Counts]:
    """Damage a copy of a set, and ask for a sweep on it."""
    shutil.copytree(pristine / case.trainable, folder / "set")
    case.damage(folder / "set" / case.file, rng)
    module = case.trainable.partition(" ")[0]
    (folder / "sweep.py").write_text(SWEEP.format(module=module, name=module))
    words: list[str | Path] = [
        "sweep.py",
        "--data",
        folder / "set",
        "--executor",
        "inline",
        "--no-mlflow",
        "--out",
    ]
    ended = command(
        [*words, folder / "run", "--plan"],
        folder=folder,
        before=_bound_memory,
        env={"SWEEP_CACHE": str(folder / "cache")},
    )
    if ended.code == 0:
        (folder / "output.txt").unlink()
        ended = command(
            [*words, folder / "run"], folder=folder, before=_only_prepare,
            env={"SWEEP_CACHE": str(folder / "cache")},
        )  # fmt: skip
    refused = ended.code == EXIT_WRONG_REQUEST and ended.output.startswith("error: ")
    file = case.file.name.split(".")[0]
    names_it = (file and file in ended.output) or str(folder / "set") in ended.output
    well = ended.code in (0, 3) or (refused and names_it and "() raised" not in ended.output)
    counts = Counts(
        rounds=1,
        hung=int(ended.code is None),
        tracebacks=int(ended.has_traceback),
        wrong=int(not well and ended.code is not None and not ended.has_traceback),
    )
    return ended, counts


def _only_prepare() -> None:
    """End the command once the data is prepared: nothing else of it is asked here."""
    _bound_memory()
    run: Any = importlib.import_module("orchestrator.driver.run")
    prepared = run.prepared_data

    def prepare(request: object) -> None:
        prepared(request)
        sys.exit(0)

    make_trials_up()
    run.prepared_data = prepare


def _bound_memory() -> None:
    """Let a set that asks for more than there is have a refusal, and not the machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something went wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.damaged_data")
    parser.add_argument("--num", type=int, default=500, help="damages; default %(default)s")
    parser.add_argument(
        "--sets", type=int, default=1000, help="damages of whole sets; default %(default)s: all"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a trainable's, file's or damage's name")
    options = parser.parse_args(arguments)
    preload(
        "trainables.graphsage", "trainables.rgat", "trainables.lenet", "trainables.node_embedding"
    )
    _preload_ogb()
    totals, num_refused = dict.fromkeys(SETS, Counts()), 0
    with tempfile.TemporaryDirectory(prefix="damaged-") as scratch:
        pristine = Path(scratch) / "pristine"
        for name, make in SETS.items():
            make(pristine / name)
        cases, of_sets = (
            [c for c in found if options.only in f"{c.trainable} {c.file} {c.name}"]
            for found in (all_cases(pristine), set_cases())
        )
        rng = Random(options.seed)
        chosen = rng.sample(cases, min(options.num, len(cases)))
        chosen += rng.sample(of_sets, min(options.sets, len(of_sets)))
        for number, case in enumerate(chosen):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            ended, counts = outcome(case, pristine, folder, Random(f"{options.seed} {number}"))
            totals[case.trainable] += counts
            num_refused += ended.code == EXIT_WRONG_REQUEST
            if not counts.is_clean:
                sys.stderr.write(f"-- {case.trainable}, {case.file}: {case.name}: {ended.code}\n")
                sys.stderr.write(f"{ended.output[-1500:]}\n")
            shutil.rmtree(folder)
    print("\n".join(environment_lines("numpy", "pandas", "torch", "ogb")), end="\n\n")
    without = ("lost", "repeated", "leaks")
    print(table(totals.items(), first="set of", without=without))
    total = sum(totals.values(), Counts())
    read = total.rounds - num_refused
    print(
        f"\n{total.rounds} damages, drawn of {len(cases)} of files and {len(of_sets)} of whole sets"
    )
    print(f"{num_refused} refused, {read} read")
    return 0 if total.is_clean else 1


def _preload_ogb() -> None:
    from trainables.data.formats.ogb_loader import quiet_ogb

    with quiet_ogb():
        import ogb.io.read_graph_raw
        import ogb.lsc  # noqa: F401


if __name__ == "__main__":
    sys.exit(main())

"""Processes of a sweep killed at random moments: what is lost, repeated, hung or left behind.

    python -m benchmarks.reliability.kills driver --kills 50
    python -m benchmarks.reliability.kills supervisor "fork server" GCS --kills 5 --seed 1

A sweep of short trials runs with Ray and MLflow. After a random while one of its processes is
killed. A sweep that ends by that is resumed, until all trials have a row; then the next one begins.
Each round is a line of ``--state``. A campaign that is started again goes on from there, and the
table is that of all lines.
"""

from __future__ import annotations

import json
import random
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.reliability.kills.rounds import Campaign
from benchmarks.reliability.kills.victims import VICTIMS
from benchmarks.reliability.table import Counts, table
from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser

KINDS = ("driver", *VICTIMS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; print the table; return 0 if nothing went wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.kills")
    parser.description = (__doc__ or "").partition("\n")[0]
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--kills", type=int, default=5, help="of each kind; default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the moments; default %(default)s")
    parser.add_argument(
        "--state", type=Path, default=Path("kills.jsonl"), help="file of the rounds"
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"unknown kind: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the sweep that runs is ended too
    for kind in options.kinds:
        _make_up_to(options.kills, kind, options.seed, options.state)
    rows = _rows(_counts_in(options.state))
    print(
        "\n".join([*environment_lines("ray", "mlflow", "torch"), "", table(rows, first="killed")])
    )
    return 0 if all(counts.is_clean for _, counts in rows) else 1


def _make_up_to(kills: int, kind: str, seed: int, state: Path) -> None:
    """Kill until a kind has as many rounds as asked for, those of earlier commands included."""
    done = sum(counts.rounds for name, counts in _counts_in(state) if name == kind)
    if done >= kills:
        return
    with Campaign(kind, random.Random(f"{kind} {seed} {done}")) as campaign:
        while done < kills:
            counts, remarks = campaign.round(kills - done)
            done += counts.rounds
            line = {"kind": kind, "counts": asdict(counts), "remarks": remarks}
            with state.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{kind}: {done} of {kills}", *remarks, sep="\n  ", file=sys.stderr, flush=True)
        counts, remarks = campaign.last_sweep()
        with state.open("a") as file:
            line = {"kind": kind, "counts": asdict(counts), "remarks": remarks}
            file.write(json.dumps(line) + "\n")


def _counts_in(state: Path) -> list[tuple[str, Counts]]:
    lines = state.read_text().splitlines() if state.exists() else []
    rounds = [json.loads(line) for line in lines]
    return [(each["kind"], Counts(**each["counts"])) for each in rounds]


def _rows(rounds: Iterable[tuple[str, Counts]]) -> list[tuple[str, Counts]]:
    total: dict[str, Counts] = {}
    for kind, counts in rounds:
        total[kind] = total.get(kind, Counts()) + counts
    return [(kind, total[kind]) for kind in KINDS if kind in total]


if __name__ == "__main__":
    sys.exit(main())

"""Planted faults that a factored search has to find, and the alarms that it raises without any.

    python -m benchmarks.search.planted [--seeds 20] [--runs FILE]

Each round is a whole factored sweep by the command line, with trainings that are real. ``order``
and ``slow`` have a fault (see :mod:`benchmarks.search.planted_sweeps`), and each of 20 sweeps has
to name it. ``sound`` and the shipped trainables have none, and 20 sweeps of each kind have to be
silent. A sweep is stopped when it has named something, or all its roles have been checked. Rounds
are kept in FILE, and those that it has are not run again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.harness import environment_lines
from benchmarks.search.planted_sweeps import SLOW_LR
from orchestrator.arguments import Parser

ROOT: Final = Path(__file__).parents[2]
NAMED: Final[Mapping[str, str]] = {
    "order": "num_workers is declared systems, and the batches differ",
    "slow": f"lr is declared learning, and its steps take +{{}} at lr={SLOW_LR}",
}
"""The console's line about a planted fault."""
SHIPPED: Final = ("lenet", "mlp", "graphsage", "rgat", "node_embedding")
ALARM: Final = " is declared "
CURVES: Final = "phase: learning curves"
AFTER_CURVES: Final = "phase: further seeds"
STARTED: Final = "  start  "
OF_A_SUSPECT: Final = 2
"""First curves of the two configs by which a suspect systems knob is tried out, before others."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rounds and print the page; return 1 where a fault is missed or an alarm is false."""
    parser = Parser(prog="python -m benchmarks.search.planted")
    parser.add_argument("--seeds", type=int, default=20, help="sweeps of each kind")
    parser.add_argument("--runs", type=Path, help="JSON lines of rounds, kept and gone on from")
    parser.add_argument("--only", nargs="+", choices=[*NAMED, "sound", *SHIPPED])
    options = parser.parse_args(arguments)
    known = options.runs.read_text() if options.runs and options.runs.exists() else ""
    rounds = [json.loads(line) for line in known.splitlines()]
    done = {(each["sweep"], each["seed"]) for each in rounds}
    for name, seed in planned(options.seeds):
        if (name, seed) in done or name not in (options.only or [name]):
            continue
        rounds.append(played(name, seed))
        if options.runs:
            with options.runs.open("a") as file:
                file.write(json.dumps(rounds[-1]) + "\n")
    print("\n".join(page(rounds)))
    return 0 if all(map(is_right, rounds)) else 1


def planned(seeds: int) -> Iterator[tuple[str, int]]:
    """Yield sweep and seed of each round; the shipped trainables share theirs."""
    for seed in range(seeds):
        yield from ((name, seed) for name in (*NAMED, "sound", SHIPPED[seed % len(SHIPPED)]))


def played(name: str, seed: int) -> dict[str, Any]:
    """Run one sweep until its roles are checked, and return its lines about them.

    Raises:
        subprocess.CalledProcessError: The sweep failed.
    """
    said: list[str] = []
    has_curves = is_over = False
    num_curves = 0
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "orchestrator", "benchmarks/search/planted_sweeps.py"]
        options = ["--seed", str(seed), "--executor", "inline", "--no-mlflow", "--out", folder]
        with subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            env={**os.environ, "PLANTED": name},
            stdout=subprocess.PIPE,
            text=True,
        ) as sweep:
            assert sweep.stdout is not None
            for line in sweep.stdout:
                has_curves |= CURVES in line
                num_curves += has_curves and STARTED in line
                is_checked = num_curves > OF_A_SUSPECT and AFTER_CURVES in line
                if not is_over and (ALARM in line or is_checked):
                    said += [line.strip()] if ALARM in line else []
                    is_over = True
                    sweep.send_signal(signal.SIGTERM)
        took_s = time.perf_counter() - began
        if sweep.returncode and not is_over:
            raise subprocess.CalledProcessError(sweep.returncode, command)
    return {"sweep": name, "seed": seed, "seconds": took_s, "said": said}


def is_right(one: Mapping[str, Any]) -> bool:
    """Return True if the planted fault was named and nothing else was, or there is none of both."""
    wanted = NAMED.get(one["sweep"])
    if wanted is None:
        return not one["said"]
    parts = wanted.split("{}")
    return bool(one["said"]) and all(all(part in line for part in parts) for line in one["said"])


def page(rounds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the page of results as Markdown."""
    yield from environment_lines("torch", "dgl")
    yield ""
    yield "| sweep | planted | sweeps | as it should be | seconds a sweep |"
    yield "| --- | --- | ---: | ---: | ---: |"
    for name in (*NAMED, "sound", *SHIPPED):
        own = [each for each in rounds if each["sweep"] == name]
        if own:
            fault = "yes" if name in NAMED else "no"
            seconds = sorted(each["seconds"] for each in own)[len(own) // 2]
            right = sum(map(is_right, own))
            yield f"| {name} | {fault} | {len(own)} | {right} | {seconds:.0f} |"
    yield ""
    for one in rounds:
        if not is_right(one):
            yield f"- {one['sweep']}, seed {one['seed']}: {one['said'] or 'nothing was said'}"


if __name__ == "__main__":
    sys.exit(main())

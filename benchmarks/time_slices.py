"""Spread of fresh processes of one config that share a core in time slices.

    python -m benchmarks.time_slices lenet graphsage

Fresh processes of one config and seed share a core: one runs at a time, for a quarter of a
second, so that changes of the host over seconds and minutes meet all alike. The differences left
are each process's own; there is no scheduler, supervisor or telemetry. Runs that are made one after
another differ by this much on the steadiest of hosts. With ``--cores 0 1`` there are as many on
each of these cores, still one at a time, and the table shows the differences between cores.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from benchmarks.peers.repeated_ray import run_sweep
from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser, whole_number
from orchestrator.data import DataFolders, find_data
from orchestrator.measurement.blocks import Block
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.space.configs import replaced
from orchestrator.system.allocators import allocator_environment
from orchestrator.trial import Report

SLICE_S = 0.25
INTERRUPTED = 3.0
"""Multiple of the median from which on the end of a slice lay within a block."""
HEADER = (
    "| trainable | processes | samples/s | spread between them | of a half against the other |\n"
    "| --- | --- | --- | --- | --- |"
)


class _Steps:
    """Channel that keeps the steps from the first slice until SIGTERM."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._has_begun = self._is_to_stop = False
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, _signal: int, _frame: object) -> None:
        self._is_to_stop = True

    def report(self, report: Report) -> bool:
        """Wait for the slices at the first report; return True after SIGTERM."""
        if self._has_begun:
            self.blocks += map(Block.from_row, report.blocks)
        else:
            self._has_begun = True
            print("ready", flush=True)
            sys.stdin.readline()
        return self._is_to_stop


def _process(name: str, core: int) -> None:
    """Train, then print the rates over the first and over the second half of the slices."""
    os.sched_setaffinity(0, {core})
    sweep = run_sweep(f"benchmarks.fidelity.{name}")
    data = find_data(sweep.trainable.data, sweep.data).prepare(DataFolders.default(None))
    steps = _Steps()
    endless = replace(sweep.budget, epochs=1_000_000)
    run = Run(Context(seed=0, budget=endless, data=data), steps)
    baseline: Any = sweep.baseline
    with suppress(TrialStopped):
        sweep.trainable.train(replaced(baseline, {"eval_every": endless.epochs}), run)
    half = len(steps.blocks) // 2
    print(json.dumps([rate_of(steps.blocks[:half]), rate_of(steps.blocks[half:])]))


def rate_of(blocks: Sequence[Block]) -> float:
    """Return the samples a second of the blocks without the end of a slice in them."""
    usual = statistics.median(block.duration_s / block.samples for block in blocks)
    whole = [b for b in blocks if b.duration_s / b.samples < INTERRUPTED * usual]
    return sum(b.samples for b in whole) / sum(b.duration_s for b in whole)


@contextmanager
def _waiting(name: str, cores: Sequence[int]) -> Iterator[list[subprocess.Popen[str]]]:
    """Start a process on each of ``cores`` that has set up and waits for its slices."""
    processes: list[subprocess.Popen[str]] = []
    try:
        for core in cores:
            command = [
                sys.executable,
                "-m",
                "benchmarks.time_slices",
                name,
                "--bound-to",
                f"{core}",
            ]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env=allocator_environment("tuned", os.environ),
            )  # fmt: skip
            processes.append(process)
            assert process.stdout is not None
            while (line := process.stdout.readline()) != "ready\n":
                if not line:
                    raise SystemExit(f"a process of {name} ended before its first slice")
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _halves(name: str, cores: Sequence[int], slices: int) -> list[tuple[float, float]]:
    """Return the rates of each process over the first and over the second half of its slices."""
    with _waiting(name, cores) as processes:
        for process in processes:
            process.send_signal(signal.SIGSTOP)
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for _ in range(slices):
            for process in processes:
                process.send_signal(signal.SIGCONT)
                time.sleep(SLICE_S)
                process.send_signal(signal.SIGSTOP)
        halves = []
        for process in processes:
            # A stopped process handles SIGTERM once it goes on.
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
            printed, _ = process.communicate()
            first, second = json.loads(printed.splitlines()[-1])
            halves.append((first, second))
    return halves


def row_of(what: str, halves: Sequence[tuple[float, float]]) -> str:
    """Return a row of the table; spreads are standard deviations of logarithms."""
    levels = [math.log(first * second) / 2 for first, second in halves]
    changes = [math.log(second / first) for first, second in halves]
    mean = math.exp(statistics.mean(levels))
    within = statistics.stdev(changes) / 2
    return (
        f"| {what} | {len(halves)} | {mean:,.0f} | {statistics.stdev(levels):.1%} | {within:.1%} |"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the processes and print the table."""
    parser = Parser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=["lenet", "graphsage"])
    parser.add_argument("--processes", type=whole_number(2), default=10, help="on each core")
    parser.add_argument("--slices", type=whole_number(4), default=40, help="of each process")
    usable = sorted(os.sched_getaffinity(0))
    parser.add_argument("--cores", type=int, nargs="+", choices=usable, default=usable[:1])
    parser.add_argument("--bound-to", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.bound_to is not None:
        _process(options.names[0], options.bound_to)
        return
    print("\n".join([*environment_lines("torch", "dgl"), "", HEADER]), flush=True)
    for name in options.names:
        halves = _halves(name, options.cores * options.processes, options.slices)
        for place, core in enumerate(options.cores):
            of_core = halves[place :: len(options.cores)]
            print(row_of(f"{name}, core {core}", of_core), flush=True)


if __name__ == "__main__":
    main()

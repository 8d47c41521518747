"""Cost of measuring: LeNet's step timed by hooks or by named phases, against a bare loop.

    python -m benchmarks.measurement_overhead [--batch-size 256] [--rounds 60] [--cores 1]

One process; the three kinds of loop are interleaved in rounds of a few steps, in random order, over
the same resident batches. The time of a kind beyond the bare loop in the same round is given as a
share of LeNet's step. Prints markdown, and the sum of the phases as a share of the step.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable, Iterable

import torch
from torch import nn
from torch.nn import functional

from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser
from orchestrator.measurement.run import Context, Phase, Run
from orchestrator.trial import Budget, Report
from trainables.lenet import LeNet

Batches = list[tuple[torch.Tensor, torch.Tensor]]
Loop = Callable[[Batches], None]
PARTS = ("wait_ms", "forward_ms", "backward_ms", "optimizer_ms")


class _Nowhere:
    """Channel whose reports go nowhere."""

    def report(self, report: Report) -> bool:
        return False


class _Trained:
    """Network with its optimizer, and the three ways to train it."""

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=1e-3, momentum=0.9, fused=True
        )
        self.run = Run(Context(seed=0, budget=Budget(epochs=1)), _Nowhere())

    def _forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.network(images), labels)

    def bare(self, batches: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> None:
        for images, labels in batches:
            self._forward(images, labels).backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    def watched(self, batches: Batches) -> None:
        self.bare(self.run.batches(batches, samples=lambda batch: len(batch[1])))

    def named(self, batches: Batches) -> None:
        run = self.run
        for images, labels in run.batches(batches, samples=lambda batch: len(batch[1])):
            with run.phase(Phase.FORWARD):
                loss = self._forward(images, labels)
            with run.phase(Phase.BACKWARD):
                loss.backward()
            with run.phase(Phase.OPTIMIZER):
                self.optimizer.step()
                self.optimizer.zero_grad()


def main() -> None:
    """Run the interleaved loops and print the tables."""
    parser = Parser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--steps", type=int, default=20, help="of a round")
    parser.add_argument("--cores", type=int, default=1)
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    torch.set_num_threads(options.cores)
    torch.manual_seed(0)
    size, steps = options.batch_size, options.steps
    batches = [(torch.randn(size, 1, 28, 28), torch.randint(10, (size,))) for _ in range(steps)]
    numbers = [(torch.randn(1, 2), torch.zeros(1, dtype=torch.long))] * (10 * steps)
    print("# What measuring costs LeNet's step\n")
    print("\n".join(environment_lines("torch")))
    print(f"- batch {size}, {options.cores} cores, {options.rounds} rounds of {steps} steps\n")
    step_s = _table(LeNet, batches, rounds=options.rounds, of_step_s=None)
    print("\nThe same around a network of two numbers, where the cost itself is what is timed:\n")
    _table(lambda: nn.Linear(2, 2), numbers, rounds=options.rounds, of_step_s=step_s)


def _table(
    make: Callable[[], nn.Module], batches: Batches, *, rounds: int, of_step_s: float | None
) -> float:
    """Print one table; return the bare loop's seconds a step, the median over rounds."""
    bare, by_hooks, by_names = (_Trained(make()) for _ in range(3))
    by_hooks.run.watch(by_hooks.network, by_hooks.optimizer)
    loops: dict[str, Loop] = {
        "bare": bare.bare, "hooks": by_hooks.watched, "named phases": by_names.named,
    }  # fmt: skip
    times = _times(loops, batches, rounds=rounds)
    bare_s = statistics.median(times["bare"]) / len(batches)
    print("| loop | step | beyond bare, of LeNet's step | quartiles | phases to the step |")
    print("| --- | --- | --- | --- | --- |")
    for kind, trained in (("bare", bare), ("hooks", by_hooks), ("named phases", by_names)):
        beyond = [
            (a - b) / len(batches) / (of_step_s or bare_s)
            for a, b in zip(times[kind], times["bare"], strict=True)
        ]
        low, middle, high = statistics.quantiles(beyond)
        step_ms = 1000 * statistics.median(times[kind]) / len(batches)
        adds_up = "" if trained is bare else f"{_share_of_phases(trained.run):.3f}"
        spread = f"{low:+.2%} to {high:+.2%}"
        print(f"| {kind} | {step_ms:.3f} ms | {middle:+.2%} | {spread} | {adds_up} |")
    return bare_s


def _times(loops: dict[str, Loop], batches: Batches, *, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each round of each loop, without the work between epochs."""
    times: dict[str, list[float]] = {kind: [] for kind in loops}
    for index in range(rounds + 2):
        for kind in random.Random(index).sample(list(loops), len(loops)):
            timed = _Timed(batches)
            loops[kind](timed)  # type: ignore[arg-type]
            if index >= 2:  # the first ones warm up
                times[kind].append(timed.ended - timed.began)
    return times


class _Timed:
    """Batches, with the times at which the loop asked for the first one and after the last."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self.began = self.ended = 0.0

    def __iter__(self) -> object:
        self.began = time.perf_counter()
        yield from self._batches
        self.ended = time.perf_counter()


def _share_of_phases(run: Run) -> float:
    from orchestrator.measurement.figures import figures

    found = figures(run.recording())
    return sum(found[part] for part in PARTS) / found["step_ms"]


class _Plain(argparse.ArgumentDefaultsHelpFormatter, argparse.RawDescriptionHelpFormatter):
    pass


if __name__ == "__main__":
    main()

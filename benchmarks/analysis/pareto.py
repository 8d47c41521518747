"""The Pareto front of a large table, against what is otherwise used for it.

    python -m benchmarks.analysis.pareto

Ours is moocore's, by way of a table. The peers: the loop over shrinking NumPy arrays that is
usually copied for this, and Optuna's ``Study.best_trials``, as far as each gets in reasonable
time. All give the same front, which is checked. The promise: 1,000,000 rows and two objectives in
at most 1 s.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import optuna
import pandas as pd

from benchmarks.side_by_side import environment_lines
from orchestrator.analysis.statistics.pareto import pareto_front
from orchestrator.arguments import Parser
from orchestrator.metrics import maximize

Floats = npt.NDArray[np.float64]
Front = Callable[[Floats], npt.NDArray[np.bool_]]

PROMISED_S = 1.0
METRICS = ("samples_per_s", "val_acc", "peak_rss_gib")


@dataclass(frozen=True, kw_only=True)
class Case:
    """Points of one kind, larger better in every column."""

    shape: str
    num_rows: int
    num_objectives: int

    def points(self) -> Floats:
        """The same points for the same case."""
        rng = np.random.default_rng(0)
        points: Floats = rng.normal(size=(self.num_rows, self.num_objectives))
        if self.shape == "sphere":  # every point on the front
            points = np.abs(points)
            points /= np.linalg.norm(points, axis=1, keepdims=True)
        if self.shape == "ties":  # as rounded accuracies give them
            points = np.round(points, 1)
        return points


def ours(points: Floats) -> npt.NDArray[np.bool_]:
    """The front as the report takes it, from a table."""
    names = METRICS[: points.shape[1]]
    frame = pd.DataFrame(points, columns=[f"metrics.{name}" for name in names])
    return pareto_front(frame, [maximize(name) for name in names])


def numpy_loop(points: Floats) -> npt.NDArray[np.bool_]:
    """The usual loop: each point that is left strikes out what it dominates."""
    left = np.arange(len(points))
    costs, index = -points, 0
    while index < len(costs):
        stays = (costs < costs[index]).any(axis=1) | (costs == costs[index]).all(axis=1)
        left, costs = left[stays], costs[stays]
        index = int(stays[:index].sum()) + 1
    mask = np.zeros(len(points), dtype=np.bool_)
    mask[left] = True
    return mask


def optuna_best_trials(points: Floats) -> npt.NDArray[np.bool_]:
    """Optuna's own answer for a finished study; building the study is not counted."""
    study = optuna.create_study(directions=["maximize"] * points.shape[1])
    study.add_trials([optuna.create_trial(values=list(row)) for row in points.tolist()])
    mask = np.zeros(len(points), dtype=np.bool_)
    began = time.perf_counter()
    mask[[trial.number for trial in study.best_trials]] = True
    _spent[optuna_best_trials] = time.perf_counter() - began
    return mask


_spent: dict[Front, float] = {}
"""Seconds of a peer whose preparation does not count."""

CASES = (
    Case(shape="normal", num_rows=1_000_000, num_objectives=2),
    Case(shape="ties", num_rows=1_000_000, num_objectives=2),
    Case(shape="sphere", num_rows=1_000_000, num_objectives=2),
    Case(shape="normal", num_rows=1_000_000, num_objectives=3),
    Case(shape="normal", num_rows=100_000, num_objectives=3),
    Case(shape="sphere", num_rows=100_000, num_objectives=3),
    Case(shape="sphere", num_rows=10_000, num_objectives=2),
    Case(shape="normal", num_rows=2_000, num_objectives=2),
)


def feasible(peer: Front, case: Case) -> bool:
    """Return True if a peer ends within a minute or so."""
    if peer is numpy_loop:
        return case.shape != "sphere" or case.num_rows <= 10_000
    return case.num_rows <= 10_000


def seconds(front: Front, points: Floats, *, repeats: int) -> tuple[float, npt.NDArray[np.bool_]]:
    """Median time of a front, and the front."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        mask = front(points)
        times.append(_spent.pop(front, time.perf_counter() - began))
    return statistics.median(times), mask


def rows(case: Case, *, repeats: int) -> tuple[float, list[str]]:
    """Our seconds, and a table row a peer.

    Raises:
        AssertionError: A peer finds another front.
    """
    points = case.points()
    our_s, mask = seconds(ours, points, repeats=repeats)
    name = f"{case.shape}, {case.num_rows:,} rows, {case.num_objectives} objectives"
    lines = []
    for peer in (numpy_loop, optuna_best_trials):
        start = f"| {name} | {int(mask.sum()):,} | {our_s:.4f} | {peer.__name__} |"
        if feasible(peer, case):
            peer_s, peer_mask = seconds(peer, points, repeats=1 if case.shape == "sphere" else 3)
            assert (peer_mask == mask).all(), f"{peer.__name__} finds another front of {name}"
            lines.append(f"{start} {peer_s:.4f} | {our_s / peer_s:.3f} |")
        else:
            lines.append(f"{start} too slow | |")
    return our_s, lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where the promise is not kept."""
    parser = Parser(prog="python -m benchmarks.analysis.pareto", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="runs of ours; default %(default)s")
    options = parser.parse_args(arguments)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    print("\n".join(environment_lines("numpy", "pandas", "moocore", "optuna")), end="\n\n")
    print("| points | front | ours, s | peer | peer, s | ours / peer |")
    print("| --- | --- | --- | --- | --- | --- |")
    slowest_s = 0.0
    for case in CASES:
        our_s, lines = rows(case, repeats=options.repeats)
        print("\n".join(lines), flush=True)
        if case.num_rows == 1_000_000 and case.num_objectives == 2:
            slowest_s = max(slowest_s, our_s)
    kept = slowest_s <= PROMISED_S
    print(f"\n1,000,000 rows, two objectives: {slowest_s:.2f} s at most, promised {PROMISED_S:g} s")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

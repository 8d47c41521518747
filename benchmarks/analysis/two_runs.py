"""Rates of false and of missed regressions where two runs of a sweep are compared.

    python -m benchmarks.analysis.two_runs

Simulated, so that the truth is known: each config has a few runs in either session, whose speeds
and accuracies have a spread of their own, and the verdict is that of
``python -m orchestrator.analysis compare``. The promises: of pairs of runs that differ in nothing
at most 5 of 100 have a regression, and a slow-down of all configs by 10 % is found in at least 95
of 100 at a spread of 2 % with three runs of each.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from orchestrator.analysis.comparison.changes import (
    TOLERANCE,
    Figure,
    Verdict,
    judged,
    together_by_stage,
    verdict_of,
)
from orchestrator.analysis.comparison.estimates import Sample, changes_of
from orchestrator.analysis.comparison.figures import own_by_stage
from orchestrator.analysis.statistics.common_change import Estimates
from orchestrator.arguments import Parser

NUM_CONFIGS: Final = (2, 4, 12)
RUNS: Final = (2, 3, 5)
SPREADS: Final = (0.02, 0.05)
PLANTED: Final = 0.9
ACCURACY_SPREAD: Final = 0.002
ACCURACY_TOLERANCE: Final = 0.005
MOST_FALSE: Final = 0.05
LEAST_FOUND: Final = 0.95

Floats = npt.NDArray[np.float64]


def verdict(rng: np.random.Generator, changes: Floats, *, runs: int, spread: float) -> Verdict:
    """Return the verdict on two drawn runs, the speeds of which differ by ``changes``."""
    stages = np.full(len(changes), "train", dtype=np.object_)
    speed = _drawn(rng, np.log(changes), runs, spread)
    accuracy = _drawn(rng, np.zeros(len(changes)), runs, ACCURACY_SPREAD)
    figures = [
        _figure("samples_per_s", speed, stages, -math.log1p(-TOLERANCE)),
        _figure("val_acc", accuracy, stages, ACCURACY_TOLERANCE),
    ]
    return verdict_of(judged(figures, stages))


def _drawn(rng: np.random.Generator, changes: Floats, runs: int, spread: float) -> Estimates:
    first, second = (spread * rng.standard_normal((len(changes), runs)) for _ in range(2))
    second += changes[:, None]
    stages = np.full(len(changes), "train", dtype=np.object_)
    return changes_of(_sample(first), _sample(second), stages)


def _sample(runs: Floats) -> Sample:
    count = np.full(len(runs), float(runs.shape[1]))
    return Sample(means=runs.mean(axis=1), variances=runs.var(axis=1, ddof=1), num_runs=count)


def _figure(
    metric: str, rows: Estimates, stages: npt.NDArray[np.object_], tolerance: float
) -> Figure:
    limits = np.full(len(rows), tolerance)
    is_ratio = metric == "samples_per_s"
    return Figure(
        metric=metric,
        is_ratio=is_ratio,
        limits=limits,
        rows=rows,
        own=own_by_stage(rows, stages) if is_ratio else None,
        together=together_by_stage(rows, stages, limits),
    )


def rates(
    changes: Sequence[float], *, runs: int, spread: float, num: int, seed: int
) -> dict[Verdict, float]:
    """Return the share of each verdict among ``num`` pairs of runs."""
    rng = np.random.default_rng([seed, runs, len(changes), round(1e6 * spread)])
    speeds = np.array(changes)
    counts = Counter(verdict(rng, speeds, runs=runs, spread=spread) for _ in range(num))
    return {each: counts[each] / num for each in Verdict}


def lines(num: int, seed: int) -> tuple[list[str], bool]:
    """Return the table of rates, and whether the promises are kept."""
    rows = [
        "| configs | runs of each | spread | no change: regression, improvement "
        "| all 10 % slower: found | one 10 % slower: found |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    are_kept = True
    for configs in NUM_CONFIGS:
        for runs in RUNS:
            for spread in SPREADS:
                alike = (1.0,) * configs
                same, slower, one = (
                    rates(changes, runs=runs, spread=spread, num=num, seed=seed)
                    for changes in (alike, (PLANTED,) * configs, (PLANTED, *alike[1:]))
                )
                false, found = same[Verdict.REGRESSION], slower[Verdict.REGRESSION]
                are_kept &= false <= MOST_FALSE
                if (runs, spread) == (3, 0.02):
                    are_kept &= found >= LEAST_FOUND
                rows.append(
                    f"| {configs} | {runs} | {100 * spread:g} % | {100 * false:.1f}, "
                    f"{100 * same[Verdict.IMPROVEMENT]:.1f} | {100 * found:.1f} | "
                    f"{100 * one[Verdict.REGRESSION]:.1f} |"
                )
    return rows, are_kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where a promise is not kept."""
    parser = Parser(
        prog="python -m benchmarks.analysis.two_runs",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--comparisons", type=int, default=200, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default %(default)s")
    options = parser.parse_args(arguments)
    rows, are_kept = lines(options.comparisons, options.seed)
    print(
        f"Of 100 pairs of runs ({options.comparisons} drawn for each row), tolerance "
        f"{100 * TOLERANCE:g} %:\n"
    )
    print("\n".join(rows))
    print(f"\nThe promises are {'kept' if are_kept else 'not kept'}.")
    return 0 if are_kept else 1


if __name__ == "__main__":
    sys.exit(main())

"""Composed figures against real trainings: of configs drawn at random, trained whole once.

    python -m orchestrator benchmarks/search/recording/lenet_200.py --out runs/searched
    python -m orchestrator benchmarks/search/recording/lenet_audit.py --out runs/audit
    python -m benchmarks.search.audit runs/searched runs/audit [--truth lenet-200]

The first is a real factored search, the second trains configs of its space one after another. The
page compares what the search has composed of each, trained or not, and what the recorded truth
has. A shared host is faster or slower by the hour, and by one factor for all configs; so the
errors of times are shown as they are, and then without the median ratio.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.search.__main__ import TRUTHS
from benchmarks.search.truth import Truth
from benchmarks.side_by_side import environment_lines
from orchestrator.analysis.columns import config_of, params_of
from orchestrator.analysis.composition.against_measured import TRAIN_S, errors
from orchestrator.analysis.composition.times import RATE, WALL
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.analysis.report.view import view_of
from orchestrator.analysis.statistics.pooling import contaminated
from orchestrator.analysis.tables.load import load_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.arguments import Parser
from orchestrator.trial import TrialState

ACCURACY: Final = "metrics.val_acc"
FIGURES: Final[Mapping[str, str]] = {WALL: "time of the trial", TRAIN_S: "train_s", RATE: "speed"}
_PERCENTILES: Final = (5, 50, 95)


def trained(run_dir: Path) -> pd.DataFrame:
    """Return the whole trainings of an audit, with ``is_loaded`` for those that were disturbed."""
    tables = load_run(run_dir)
    done = tables.trials[tables.trials["state"] == TrialState.COMPLETED]
    knobs = params_of(done)
    return done[[*knobs, *FIGURES, ACCURACY]].assign(is_loaded=contaminated(done))


def composed_by_search(run_dir: Path, audit: pd.DataFrame) -> pd.DataFrame:
    """Return the trainings beside what a search has composed of their configs, if anything."""
    tables = load_run(run_dir)
    configs = view_of(tables, recommend(tables)).configs
    composed = configs[[*params_of(configs), *FIGURES, ACCURACY]]
    return audit.merge(composed, on=params_of(configs), suffixes=("_measured", "_composed"))


def composed_of_truth(truth: Truth, audit: pd.DataFrame, tables: RunTables) -> pd.DataFrame:
    """Return the trainings beside what a recorded truth says of their configs."""
    rows = []
    for row in audit.to_dict("records"):
        config = truth.problem.canonical(config_of(row, tables.sweep))
        timing, curve = truth.timing(config), truth.curve(config)
        wall_s = truth.wall_s(timing, curve.shape[1])
        rows.append(
            {
                WALL: wall_s,
                TRAIN_S: wall_s - timing.set_up_s - curve.shape[1] * timing.eval_s,
                RATE: timing.samples_per_s,
                ACCURACY: float(curve[:, -1].mean()),
            }
        )
    composed = pd.DataFrame(rows, index=audit.index).add_suffix("_composed")
    measured = {name: f"{name}_measured" for name in [*FIGURES, ACCURACY]}
    return audit.rename(columns=measured).join(composed)


def page(compared: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Yield the page of results as Markdown."""
    yield from environment_lines("pandas", "ray", "torch")
    for name, every in compared.items():
        yield from ["", f"## {name}", ""]
        yield "| trainings | number | figure | 5 % | median | 95 % |"
        yield "| --- | ---: | --- | ---: | ---: | ---: |"
        for kind, rows in (("all", every), ("without other load", every[~every["is_loaded"]])):
            if not rows.empty:
                yield from (f"| {kind} | {line}" for line in _lines(rows))


def _lines(rows: pd.DataFrame) -> Iterator[str]:
    for figure, name in FIGURES.items():
        error = errors(rows, figure)
        yield _line(f"{name}: composed over measured", 1 + error, "{:.3f}")
        yield _line(f"{name}: error", error.abs(), "{:.1%}")
        apart = (1 + error) / (1 + error).median() - 1
        yield _line(f"{name}: error, without the median ratio", apart.abs(), "{:.1%}")
    points = 100 * (rows[f"{ACCURACY}_composed"] - rows[f"{ACCURACY}_measured"]).abs().dropna()
    yield _line("val_acc: error, points", points, "{:.2f}")


def _line(figure: str, values: pd.Series[Any], form: str) -> str:
    shown = [form.format(value) for value in np.percentile(values, _PERCENTILES)]
    return f"{len(values)} | {figure} | {' | '.join(shown)} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page."""
    parser = Parser(prog="python -m benchmarks.search.audit")
    parser.add_argument("searched", type=Path, help="run directory of the search")
    parser.add_argument("audit", type=Path, help="run directory of the trainings")
    parser.add_argument("--truth", choices=TRUTHS, help="a recorded truth of the same space")
    options = parser.parse_args(arguments)
    audit = trained(options.audit)
    compared = {"The search": composed_by_search(options.searched, audit)}
    if options.truth:
        tables = load_run(options.audit)
        truth = TRUTHS[options.truth]()
        compared["The recorded truth"] = composed_of_truth(truth, audit, tables)
    print("\n".join(page(compared)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Curves of a race to a target, against all of them in full, on the same draws.

    python -m benchmarks.search.to_target --seeds 20

The target is given, half a point below the truth's best accuracy, or half a point below the best
that the search finds. The cost is that of the trainings, rungs included. The winner must be the
config that all curves in full would have shown to reach the target first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from benchmarks.harness import environment_lines
from benchmarks.search.__main__ import TRUTHS
from benchmarks.search.rivals import trial_of
from benchmarks.search.truth import Draws, Truth
from orchestrator import Factored, at_least, maximize, minimize
from orchestrator.arguments import Parser
from orchestrator.kernel.problem import key_of
from orchestrator.kernel.search import Proposal
from orchestrator.metrics import Objective
from orchestrator.replay.recorded import RecordedRun
from orchestrator.search.factored.curves import Race
from orchestrator.search.factored.findings import Curve
from orchestrator.search.factored.search import FactoredSearch
from orchestrator.trial import Stage, Trial, TrialResult, TrialState

TOLERANCE: Final = 0.005


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A race's end.

    Attributes:
        share: Seconds of its trainings over those of all curves in full.
        is_same: True where its winner is that of all curves in full.
        slower: Time that its winner takes to their target beyond what theirs takes, as a fraction;
            infinite where it does not get there.
    """

    share: float
    is_same: bool
    slower: float


def raced(truth: Truth, target: Objective, seed: int) -> Outcome:
    """Return the outcome of one search, a trial at a time."""
    objectives = (minimize("time_to_accuracy_s"), maximize("val_acc"))
    problem = replace(truth.problem, objectives=objectives, target=target, seed=seed)
    search = Factored(seeds=1).start(problem)
    assert isinstance(search, FactoredSearch)
    draws, trained_s, number = Draws(truth, seed), 0.0, 0
    while isinstance(proposal := search.ask(), Proposal):
        trial = trial_of(proposal, number)
        run, before, epochs = _drawn(draws, trial), 0, trial.budget.epochs
        if trial.stage is Stage.TRAIN:
            before = search._findings.curve(key_of(problem, trial.config)).epochs
            epochs = _trained(search, trial, run, before)
            trained_s += run.reports[epochs - 1].elapsed_s
            if before:  # its part before; it has started once more
                trained_s -= run.reports[before - 1].elapsed_s
                trained_s += truth.timing(trial.config).set_up_s
        is_whole = epochs == trial.budget.epochs
        state = TrialState.COMPLETED if is_whole else TrialState.STOPPED
        metrics = {**run.metrics, **run.reports[epochs - 1].metrics}
        search.tell(trial, TrialResult(state=state, metrics=metrics, tags=dict(run.tags)))
        number += 1
    return _outcome(search, draws, trained_s, target)


def _drawn(draws: Draws, trial: Trial) -> RecordedRun:
    """Return a trial's run; that of a curve is the same however often it goes on."""
    return draws.run(trial.config, "train" if trial.stage is Stage.TRAIN else trial.id, 0)


def _trained(search: FactoredSearch, trial: Trial, run: RecordedRun, before: int) -> int:
    """Report the epochs after ``before`` until the search or the budget ends; return the last."""
    until = trial.budget.pause_after or trial.budget.epochs
    for report in run.reports[before:until]:
        if search.should_stop(trial, report):
            return report.epoch
    return until


def _outcome(search: FactoredSearch, draws: Draws, trained_s: float, target: Objective) -> Outcome:
    """Train all curves in full, and hold the race's end against it."""
    findings = search._findings
    whole, whole_s = list[Curve](), 0.0
    for _, key in search._assigned:
        run = draws.run(findings.config(key), "train", 0)
        curve = Curve(config=key, repeat=0)
        for report in run.reports:
            curve.seen(report.epoch, (report.metrics["val_acc"],))
        whole.append(curve)
        whole_s += run.wall_s
    best = max(figures[0] for curve in whole for _, figures in curve.history)
    full = Race(findings, whole, best - TOLERANCE if target.bound is None else target.bound)
    race = search._racing
    assert race is not None
    raced_s = {curve.config: race.reached_s(curve) for curve in race._curves}
    winner = min(raced_s, key=lambda key: raced_s[key])
    first = min(whole, key=full.reached_s)
    (own,) = (curve for curve in whole if curve.config == winner)
    return Outcome(
        share=trained_s / whole_s,
        is_same=own is first,
        slower=full.reached_s(own) / full.reached_s(first) - 1,
    )


def _shown(slower: float) -> str:
    return f"{slower:.1%}" if math.isfinite(slower) else "it does not get there"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = Parser(prog="python -m benchmarks.search.to_target")
    parser.add_argument("--truths", nargs="+", choices=TRUTHS, default=list(TRUTHS))
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args(arguments)
    print("\n".join([*environment_lines("pandas"), "", *_rows(options.truths, options.seeds)]))
    return 0


def _rows(names: Sequence[str], seeds: int) -> Iterator[str]:
    yield "| truth | target | curves, share of all in full | same winner | slower than it |"
    yield "| --- | --- | --- | --- | --- |"
    for name in names:
        truth = TRUTHS[name]()
        given = at_least("val_acc", float(truth.configs["accuracy"].max()) - TOLERANCE)
        for text, target in (
            ("given", given),
            ("near the best", maximize("val_acc", tolerance=TOLERANCE)),
        ):
            found = [raced(truth, target, seed) for seed in range(seeds)]
            shares = [each.share for each in found]
            same = sum(each.is_same for each in found)
            slower = [each.slower for each in found]
            cells = (
                f"{np.median(shares):.2f} (worst {max(shares):.2f}) | {same} of {seeds} | "
                f"{np.median(slower):.1%} (worst {_shown(max(slower))})"
            )
            yield f"| {name} | {text} | {cells} |"


if __name__ == "__main__":
    sys.exit(main())

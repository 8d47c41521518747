"""What a factored search remembers of its trials."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.search import Factored
from orchestrator.search.factored.findings import Curve, Findings
from orchestrator.search.factored.goals import goals_of
from orchestrator.search.factored.speeds import Speeds
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.factored.simulated import problem
from tests.orchestrator.search.playing import completed, trial_of


@pytest.fixture
def findings() -> Findings:
    factors = Factored().factors(problem())
    goals = goals_of(factors.problem)
    return Findings(factors, goals, Speeds(goals, 4, 0.05))


def trial(findings: Findings, key: Key, stage: Stage, pause: int | None = None) -> Trial:
    budget = Budget(epochs=9, pause_after=pause)
    return trial_of(Proposal(config=findings.config(key), budget=budget, stage=stage))


def test_of_equally_fast_settings_the_cheapest_is_trained_with(findings: Findings) -> None:
    group = findings.factors.groups[0]
    for setting in group.settings:
        key, _ = group.to_probe(setting)
        workers = findings.config(key)["workers"]
        rate = {0: 100.0, 1: 500.0}.get(workers, 1000.0 + workers)
        result = completed(samples_per_s=rate, peak_rss_gib=0.5)
        findings.tell(trial(findings, key, Stage.PROBE), result)
    assert group.to_probe(findings.fastest(group))[0][0] == 8
    trained = findings.trained_with(group, group.curves[0])
    assert trained is not None
    assert findings.config(trained)["workers"] == 2
    best = findings.by_preference(group)
    assert findings.speeds.mean(best[-1]) < findings.speeds.mean(best[1])


def told(findings: Findings, *results: tuple[int | None, TrialResult]) -> Curve:
    key = findings.factors.candidates.keys[0]
    for pause, result in results:
        findings.tell(trial(findings, key, Stage.TRAIN, pause), result)
    return findings.curve(key)


def paused(**metrics: float) -> TrialResult:
    return replace(completed(**metrics), state=TrialState.STOPPED)


def test_a_paused_curve_is_not_over_and_a_completed_one_is(findings: Findings) -> None:
    curve = told(findings, (1, paused(val_acc=0.5, epochs=1, step_ms=2.0)))
    assert (curve.epochs, curve.figures, curve.is_over) == (1, (0.5,), False)
    curve = told(findings, (None, completed(val_acc=0.9, epochs=9, step_ms=3.0)))
    assert (curve.epochs, curve.figures, curve.is_over) == (9, (0.9,), True)
    assert (curve.history, curve.step_ms) == ([(1, (0.5,)), (9, (0.9,))], [2.0, 3.0])


@pytest.mark.parametrize(
    "result",
    [
        TrialResult(state=TrialState.INFEASIBLE),
        TrialResult(state=TrialState.FAILED),
        completed(samples_per_s=3.0),
    ],
)
def test_a_curve_without_figures_is_lost(findings: Findings, result: TrialResult) -> None:
    curve = told(findings, (1, result))
    assert (curve.is_lost, curve.is_over, curve.figures) == (True, True, None)
    assert findings.mean_figures(curve.config) is None

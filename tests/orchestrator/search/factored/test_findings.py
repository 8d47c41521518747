"""Groups, settings and curves of a space; what a factored search remembers of its trials."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.search import Factored
from orchestrator.search.factored.factors import Factors
from orchestrator.search.factored.findings import Curve, Findings
from orchestrator.space.domains import choice
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.factored import simulated
from tests.orchestrator.search.playing import Config, completed, trial_of
from tests.orchestrator.search.playing import problem as small_problem


@pytest.fixture
def findings() -> Findings:
    return simulated.findings()


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


def of(**changes: object) -> Factors:
    space = Config(lr=choice(0.03, 0.1), workers=choice(0, 3), batch=choice(100, 1000))
    return Factored().factors(small_problem(**{"space": space, **changes}))


def test_the_baseline_comes_first_in_everything() -> None:
    factors = of()
    baseline = factors.candidates.keys[0]
    group = factors.groups[0]
    assert group.settings[0] == factors.setting_of(baseline)
    assert group.curves[0] == factors.curve_of(baseline)
    for group in factors.groups:
        assert {key[0] for key in (group.to_probe(s)[0] for s in group.settings)} == {0.1}


def test_knobs_that_vary_by_role_and_a_knob_that_proves_to_be_both() -> None:
    factors = of()
    assert factors.varied(Role.SYSTEMS) == ["workers"]
    assert factors.varied(Role.LEARNING) == ["lr"]
    more = factors.as_both("workers")
    assert (len(factors.groups), len(more.groups)) == (2, 4)
    assert more.varied(Role.SYSTEMS) == []
    key = factors.candidates.keys[0]
    assert more.setting_of(key) == factors.setting_of(key), "what was probed stays known"
    assert not more.has_choice

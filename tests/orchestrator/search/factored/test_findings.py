"""The objectives of a factored search; groups, settings, curves; results of trials."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.search import Factored
from orchestrator.search.factored.factors import Factors, Goals
from orchestrator.search.factored.findings import Curve, Findings
from orchestrator.space.domains import choice
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.factored import simulated
from tests.orchestrator.search.factored.simulated import problem
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
        key = group.to_probe(setting)
        workers = findings.config(key)["workers"]
        rate = {0: 100.0, 1: 500.0}.get(workers, 1000.0 + workers)
        result = completed(samples_per_s=rate, peak_rss_gib=0.5)
        findings.tell(trial(findings, key, Stage.PROBE), result)
    assert group.to_probe(findings.fastest(group))[0] == 8
    trained = findings.trained_with(group, group.curves[0])
    assert trained is not None
    assert findings.config(trained)["workers"] == 2
    best = findings.by_preference(group)
    assert findings.speeds.mean(best[-1]) < findings.speeds.mean(best[1])


def curve_after(findings: Findings, *results: tuple[int | None, TrialResult]) -> Curve:
    key = findings.factors.candidates.keys[0]
    for pause, result in results:
        findings.tell(trial(findings, key, Stage.TRAIN, pause), result)
    return findings.curve(key)


def paused(**metrics: float) -> TrialResult:
    return replace(completed(**metrics), state=TrialState.STOPPED)


def test_a_paused_curve_is_not_over_and_a_completed_one_is(findings: Findings) -> None:
    curve = curve_after(findings, (1, paused(val_acc=0.5, epochs=1, step_ms=2.0)))
    assert (curve.epochs, curve.figures, curve.is_over) == (1, (0.5,), False)
    curve = curve_after(findings, (None, completed(val_acc=0.9, epochs=9, step_ms=3.0)))
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
    curve = curve_after(findings, (1, result))
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
        assert {group.to_probe(s)[0] for s in group.settings} == {0.1}


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


SPEED, ACCURACY = maximize("samples_per_s"), maximize("val_acc")


def goals_with(objectives: Sequence[Objective], target: Objective | None = None) -> Goals:
    return Goals(replace(problem(), objectives=tuple(objectives), target=target))


def test_objectives_are_split_into_speed_learning_and_conditions() -> None:
    goals = goals_with([minimize("epoch_s"), ACCURACY, at_most("peak_rss_gib", 2)])
    assert goals.speed.metric == "epoch_s"
    assert [each.metric for each in goals.learned] == ["val_acc"]
    assert [each.metric for each in goals.conditions] == ["peak_rss_gib"]
    assert goals.holds({"peak_rss_gib": 2.0})
    assert goals.holds({}), "not known to be violated"
    assert not goals.holds({"peak_rss_gib": 2.1})


@pytest.mark.parametrize("metric", ["time_to_accuracy_s", "goodput", "cost", "energy_j"])
def test_a_probe_has_only_the_rate_of_a_whole_training(metric: str) -> None:
    assert goals_with([minimize(metric), ACCURACY]).speed == SPEED


def test_figures_are_the_larger_the_better_and_tolerances_their_own() -> None:
    goals = goals_with([SPEED, ACCURACY, minimize("train_loss", tolerance=0.1)])
    assert goals.tolerances == (0.005, 0.1)
    assert goals.figures({"val_acc": 0.9, "train_loss": 0.3}) == (0.9, -0.3)
    assert goals.figures({"val_acc": 0.9}) is None
    assert goals.figures({"val_acc": 0.9, "train_loss": math.nan}) is None
    assert goals.is_within((0.896, -0.35), (0.9, -0.3))
    assert not goals.is_within((0.894, -0.3), (0.9, -0.3))


@pytest.mark.parametrize(
    ("objectives", "target", "final"),
    [
        ([SPEED, ACCURACY], None, True),
        ([minimize("time_to_accuracy_s"), ACCURACY], at_least("val_acc", 0.9), False),
        ([minimize("time_to_accuracy_s"), ACCURACY], maximize("val_acc", tolerance=0.01), True),
        ([minimize("goodput"), maximize("val_f1")], at_least("val_acc", 0.9), True),
    ],
)
def test_final_figures_count_unless_a_given_target_is_all_that_is_asked_for(
    objectives: list[Objective], target: Objective | None, *, final: bool
) -> None:
    goals = goals_with(objectives, target)
    assert goals.are_final == final
    assert goals.is_best_all == (target is not None and target.bound is None)
    assert goals.learned[0].metric == "val_acc" or target is None


def test_a_speed_that_is_minimised_is_the_larger_the_faster() -> None:
    own, rate = goals_with([minimize("epoch_s"), ACCURACY]).log_speeds(
        completed(epoch_s=2.0, samples_per_s=100.0)
    )
    assert (own, rate) == (-math.log(2), math.log(100))
    assert math.isnan(goals_with([SPEED, ACCURACY]).log_speeds(completed(samples_per_s=0.0))[0])

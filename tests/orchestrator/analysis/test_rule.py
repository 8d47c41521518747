import math
from random import Random

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.rule import GOODPUT, TIME, Rule, rule_of, with_derived
from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.rules import fastest_within, knee
from tests.orchestrator.analysis.made_runs import MadeRun

SPEED, ACCURACY = maximize("samples_per_s"), maximize("val_acc", tolerance=0.005)
MEMORY = minimize("peak_rss_gib", tolerance=0.1, relative=True)
RULE = Rule(objectives=(SPEED, ACCURACY))
COSTS = Rule(objectives=(minimize("epoch_s"), minimize("train_loss", tolerance=0.01)))


def with_objectives_of(*objectives: Objective) -> MadeRun:
    run = MadeRun()
    run.sweep["objectives"] = [
        {name: getattr(o, name) for name in ("metric", "goal", "tolerance", "relative", "bound")}
        for o in objectives
    ]
    return run


def table(**figures: list[float]) -> pd.DataFrame:
    return pd.DataFrame({f"metrics.{name}": values for name, values in figures.items()})


def test_an_accuracy_has_the_sweeps_tolerance_and_others_its_margin() -> None:
    run = with_objectives_of(SPEED, maximize("val_auc"), minimize("peak_rss_gib"))
    run.sweep |= {"accuracy_tolerance": 0.01, "tie_margin": 0.03}
    _, accuracy, memory = rule_of(run.record).objectives
    assert (accuracy.tolerance, accuracy.relative) == (0.01, False)
    assert (memory.tolerance, memory.relative) == (0.03, True)


def test_an_objectives_own_tolerance_comes_before_the_sweeps_and_the_rules_before_both() -> None:
    run = with_objectives_of(SPEED, maximize("val_acc", tolerance=0.02), maximize("val_auc"))
    run.sweep["rule"] = fastest_within("val_auc", 0.1, relative=True).to_json()
    _, accuracy, area = rule_of(run.record).objectives
    assert (accuracy.tolerance, area.tolerance, area.relative) == (0.02, 0.1, True)


def test_the_tolerance_includes_its_end() -> None:
    accuracies = table(samples_per_s=[1.0, 1.0, 1.0], val_acc=[0.900, 0.895, 0.8949])
    assert RULE.acceptable(accuracies).tolist() == [True, True, False]
    losses = table(epoch_s=[1.0, 1.0, 1.0], train_loss=[0.500, 0.510, 0.511])
    assert COSTS.acceptable(losses).tolist() == [True, True, False]


def test_a_bound_comes_first_whatever_its_place() -> None:
    rule = Rule(objectives=(SPEED, ACCURACY, at_most("peak_rss_gib", 4)))
    configs = table(
        samples_per_s=[9.0, 5.0, 7.0], val_acc=[0.95, 0.90, 0.90], peak_rss_gib=[5.0, 4.0, 3.0]
    )
    # The most accurate config exceeds the bound: the best is the best of the others.
    assert rule.limits(configs) == {"peak_rss_gib": 4, "val_acc": pytest.approx(0.895)}
    assert rule.acceptable(configs).tolist() == [False, True, True]


def test_a_third_objective_is_near_the_best_of_those_that_are_accurate_enough() -> None:
    rule = Rule(objectives=(SPEED, ACCURACY, MEMORY))
    configs = table(
        samples_per_s=[9.0, 5.0, 7.0, 4.0],
        val_acc=[0.90, 0.90, 0.897, 0.5],
        peak_rss_gib=[4.0, 2.0, 2.2, 1.0],
    )
    assert rule.limits(configs)["peak_rss_gib"] == pytest.approx(2.2)
    assert rule.acceptable(configs).tolist() == [False, True, True, False]


def test_other_rules_have_no_conditions_but_bounds() -> None:
    rule = Rule(objectives=(SPEED, ACCURACY, at_most("peak_rss_gib", 4)), how=knee())
    assert rule.conditions == (at_most("peak_rss_gib", 4),)


COLUMNS = ["metrics.samples_per_s", "metrics.val_acc", "metrics.peak_rss_gib"]
CONFIGS = st.lists(
    st.tuples(*(st.sampled_from([0.0, 0.5, 0.9, 0.95, 1.0, 2.0]) for _ in range(3))),
    min_size=1,
    max_size=12,
).map(lambda rows: pd.DataFrame(rows, columns=COLUMNS))


@given(CONFIGS)
def test_without_bounds_some_config_is_acceptable_and_all_that_dominate_it(
    configs: pd.DataFrame,
) -> None:
    rule = Rule(objectives=(SPEED, ACCURACY, MEMORY))
    is_in = rule.acceptable(configs)
    assert is_in.any()
    for speed, accuracy, memory in configs[is_in].to_numpy():
        dominates = (
            (configs["metrics.samples_per_s"] >= speed)
            & (configs["metrics.val_acc"] >= accuracy)
            & (configs["metrics.peak_rss_gib"] <= memory)
        )
        assert is_in[dominates].all()


@given(CONFIGS, st.randoms())
def test_the_order_of_the_configs_does_not_matter(configs: pd.DataFrame, random: Random) -> None:
    rule = Rule(objectives=(SPEED, ACCURACY, MEMORY))
    order = random.sample(range(len(configs)), len(configs))
    shuffled = rule.acceptable(configs.iloc[order]).sort_index()
    assert shuffled.tolist() == rule.acceptable(configs).tolist()


def test_what_was_learned_is_shown_at_any_place() -> None:
    assert Rule(objectives=(SPEED, MEMORY, ACCURACY)).accuracy is ACCURACY
    assert Rule(objectives=(SPEED, MEMORY)).accuracy is MEMORY
    assert Rule(objectives=(SPEED,)).accuracy.metric == "val_acc"


# -- figures to a target, by the best of all curves

NEAR = maximize("val_acc", tolerance=0.01)
BASELINE = {"lr": 0.1}


def derived(target: Objective | None, *, stage: str = "train") -> pd.DataFrame:
    """Three trials: the baseline, a quicker one, and one that never gets there."""
    trials = pd.DataFrame(
        {
            "trial_id": ["base", "quick", "never"],
            "stage": ["train", stage, "train"],
            "params.lr": [0.1, 0.2, 0.3],
            "metrics.samples_per_s": [100.0, 100.0, 100.0],
        }
    )
    rows = [("base", 1, 0.5), ("base", 2, 0.8), ("base", 3, 0.9), ("quick", 1, 0.85),
            ("quick", 2, 0.95), ("never", 1, 0.1)]  # fmt: skip
    curves = pd.DataFrame(rows, columns=["trial_id", "epoch", "metrics.val_acc"])
    curves = curves.assign(
        samples=1000 * curves["epoch"],
        elapsed_s=10.0 * curves["epoch"],
        **{"metrics.train_s": 2.0 * curves["epoch"]},
    )
    rule = Rule(objectives=(minimize("time_to_accuracy_s"),), target=target)
    return with_derived(trials, curves, rule, BASELINE).set_index("trial_id")


def test_a_given_target() -> None:
    table = derived(at_least("val_acc", 0.8))
    assert table[TIME].tolist()[:2] == [4.0, 2.0]
    assert math.isnan(table[TIME]["never"])
    # The baseline is the reference: half its samples at the same rate.
    assert table[GOODPUT].tolist()[:2] == [100.0, 200.0]


def test_a_target_near_the_best_of_all_curves() -> None:
    table = derived(NEAR)
    assert table[TIME]["quick"] == 4.0
    assert math.isnan(table[TIME]["base"])
    assert table[GOODPUT]["quick"] == 100.0  # the baseline never got there


def test_confirm_runs_have_figures_and_set_no_target() -> None:
    table = derived(NEAR, stage="confirm")
    assert table[TIME].to_dict() == pytest.approx(
        {"base": 6.0, "quick": 4.0, "never": math.nan}, nan_ok=True
    )


def test_without_a_target_nothing_is_made() -> None:
    assert TIME not in derived(None).columns

from __future__ import annotations

from dataclasses import replace

from orchestrator.analysis.rule import Rule
from orchestrator.analysis.rule_words import condition_text, lacking, rule_text, times_baseline
from orchestrator.metrics import at_least, at_most, maximize, minimize
from orchestrator.rules import RuleKind, SelectionRule, knee, weighted

SPEED, ACCURACY = maximize("samples_per_s"), maximize("val_acc", tolerance=0.005)
MEMORY = minimize("peak_rss_gib", tolerance=0.02, relative=True)
RULE = Rule(objectives=(SPEED, ACCURACY), tie_margin=0.06)


def test_the_usual_rule() -> None:
    assert rule_text(RULE) == (
        "the fastest config by samples_per_s whose val_acc is within 0.5 points of the best; "
        "of those as fast within 6 %, the cheapest"
    )


def test_costs_are_named_as_such() -> None:
    rule = Rule(objectives=(minimize("epoch_s"), minimize("train_loss", tolerance=0.01)))
    assert rule_text(rule).startswith(
        "the least costly config by epoch_s whose train_loss is within 0.01 of the best"
    )


def test_one_objective() -> None:
    assert rule_text(Rule(objectives=(SPEED,))) == (
        "the fastest config by samples_per_s; of those as fast within 2 %, the cheapest"
    )
    best = rule_text(Rule(objectives=(maximize("val_acc"),)))
    assert best == "the best config by val_acc; of those as good within 2 %, the cheapest"


def test_three_objectives_and_bounds_with_their_units() -> None:
    rule = Rule(objectives=(SPEED, ACCURACY, MEMORY))
    assert (
        "whose val_acc is within 0.5 points of the best and, of these, whose peak_rss_gib is "
        in (rule_text(rule))
    )
    assert condition_text(MEMORY) == "peak_rss_gib is within 2 % of the best"
    assert condition_text(at_most("peak_rss_gib", 20)) == "peak_rss_gib is at most 20 GiB"
    assert condition_text(at_least("val_acc", 0.97)) == "val_acc is at least 97.00 %"


def test_the_other_rules() -> None:
    knees = rule_text(replace(RULE, how=knee()))
    assert knees.startswith("the knee of the front of samples_per_s and val_acc: ")
    weights = rule_text(replace(RULE, how=weighted(samples_per_s=1, val_acc=10)))
    assert weights.endswith("weights: samples_per_s 1, val_acc 10")
    function = SelectionRule(kind=RuleKind.FUNCTION, name="least_memory")
    bounded = replace(RULE, how=function, objectives=(SPEED, at_least("val_acc", 0.9)))
    assert rule_text(bounded) == (
        "what the sweep's function least_memory returns; among the configs whose val_acc is at "
        "least 90.00 %"
    )


def test_configs_are_short_of_what_the_rule_names() -> None:
    assert lacking(RULE) == "not accurate enough"
    memory = Rule(objectives=(SPEED, MEMORY))
    assert lacking(memory) == "short of the rule in peak_rss_gib"


def test_what_is_no_speed_is_not_called_one() -> None:
    assert times_baseline(RULE, "1.26") == "1.26x the baseline's speed"
    memory = Rule(objectives=(MEMORY, ACCURACY))
    assert times_baseline(memory, "1.26") == "1.26x as good as the baseline in peak_rss_gib"

from dataclasses import replace

import pytest

from orchestrator.analysis.rule import Rule
from orchestrator.analysis.wording import (
    format_config,
    interval_text,
    ratio_text,
    rule_text,
    short,
    shown,
    telling_knobs,
)
from orchestrator.metrics import Objective, at_least, maximize, minimize
from orchestrator.rules import RuleKind, SelectionRule, knee, weighted
from orchestrator.space.configs import format_value
from tests.orchestrator.analysis.made_runs import MadeRun, config


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("samples_per_s", 24176.4, "24,176 samples/s"),
        ("val_acc", 0.91251, "91.25 %"),
        ("cpu_util", 0.634, "63 %"),
        ("step_ms", 12.3456, "12.35 ms"),
        ("my_score", 0.12345, "0.1235"),
        ("val_acc", float("nan"), "unknown"),
    ],
)
def test_a_figure_has_its_unit_and_as_many_digits_as_count(
    metric: str, value: float, text: str
) -> None:
    assert shown(metric, value) == text


def test_an_interval_has_no_unit() -> None:
    row = {"metrics.samples_per_s_low": 24176.2, "metrics.samples_per_s_high": 24913.0}
    assert interval_text(row, "samples_per_s") == "24,176 to 24,913"
    assert interval_text({}, "samples_per_s") == ""


def test_an_interval_that_gives_no_figure_is_not_known() -> None:
    wide = {"metrics.samples_per_s_low": 528.5, "metrics.samples_per_s_high": 6161.0}
    assert interval_text(wide, "samples_per_s") == "not known"
    row = {"ratio_to_best": 0.6, "ratio_low": 0.1, "ratio_high": 1.0}
    assert ratio_text(row) == ""


def test_a_ratio_to_the_best_has_its_interval() -> None:
    row = {"ratio_to_best": 0.912, "ratio_low": 0.88, "ratio_high": 0.941}
    assert ratio_text(row) == "0.912 (0.880 to 0.941)"
    assert ratio_text({"ratio_to_best": 1.0, "ratio_low": 1.0, "ratio_high": 1.0}) == "1.000"
    assert ratio_text({"ratio_to_best": float("nan")}) == ""


@pytest.mark.parametrize(
    ("value", "exact", "to_read"),
    [(0.0123456, "0.0123456", "0.01235"), ((10, 25), "10,25", "10,25"), (True, "true", "true"),
     (3, "3", "3"), ("tuned", "tuned", "tuned")],
)  # fmt: skip
def test_a_knobs_value_is_exact_in_commands_and_short_in_sentences(
    value: object, exact: str, to_read: str
) -> None:
    assert (format_value(value), short(value)) == (exact, to_read)


def test_a_label_names_knobs_that_vary_or_are_not_the_baselines() -> None:
    record = MadeRun().record
    assert format_config(config(num_workers=3), record) == "lr=0.003 batch_size=1000 num_workers=3"
    assert telling_knobs([config(), config(dropout=0.1)], record) == [
        "lr", "batch_size", "num_workers", "dropout",
    ]  # fmt: skip


SPEED, ACCURACY = maximize("samples_per_s"), maximize("val_acc", tolerance=0.005)
MEMORY = minimize("peak_rss_gib", tolerance=0.02, relative=True)
RULE = Rule(objectives=(SPEED, ACCURACY), tie_margin=0.06)


@pytest.mark.parametrize(
    ("objectives", "text"),
    [
        ((SPEED, ACCURACY), "the fastest config by samples_per_s whose val_acc is within 0.5 "),
        ((minimize("epoch_s"), minimize("train_loss", tolerance=0.01)),
         "the least costly config by epoch_s whose train_loss is within 0.01 of the best"),
        ((SPEED,), "the fastest config by samples_per_s; of those as fast within 2 %, the"),
        ((maximize("val_acc"),), "the best config by val_acc; of those as good within 2 %, the"),
    ],
)  # fmt: skip
def test_the_usual_rule(objectives: tuple[Objective, ...], text: str) -> None:
    assert rule_text(Rule(objectives=objectives)).startswith(text)


def test_the_other_rules() -> None:
    knees = rule_text(replace(RULE, how=knee()))
    assert knees.startswith("the knee of the front of samples_per_s, val_acc: ")
    weights = rule_text(replace(RULE, how=weighted(samples_per_s=1, val_acc=10)))
    assert weights.endswith("weights: samples_per_s 1, val_acc 10")
    function = SelectionRule(kind=RuleKind.FUNCTION, name="least_memory")
    bounded = replace(RULE, how=function, objectives=(SPEED, at_least("val_acc", 0.9)))
    assert rule_text(bounded) == (
        "what the sweep's function least_memory returns; among the configs whose val_acc is at "
        "least 90.00 %"
    )

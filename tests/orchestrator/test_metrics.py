"""The registry of metrics: one name a metric, its unit in its name, objectives with a direction."""

import json
import re

import msgspec
import pytest

from orchestrator.metric_table import DERIVED, MEASURED, METRICS, Metric
from orchestrator.metrics import Objective, is_learned, maximize, minimize
from orchestrator.rules import RuleKind, SelectionRule, fastest_within, knee, weighted

SUFFIXES = {
    "_per_s": "1/s", "_per_s_low": "1/s", "_per_s_high": "1/s", "_s_within_low": "1/s",
    "_s_within_high": "1/s", "_ms": "ms", "_gib": "GiB", "_w": "W", "_mhz": "MHz", "_j": "J",
    "_mib_per_epoch": "MiB", "_s": "s",
}  # fmt: skip
"""Unit by the end of a name, the longest first."""


def test_no_two_metrics_have_one_name() -> None:
    assert len(METRICS) == len(MEASURED) + len(DERIVED) > 40


@pytest.mark.parametrize("metric", MEASURED, ids=lambda metric: metric.name)
def test_a_name_ends_in_its_unit(metric: Metric) -> None:
    units = [unit for suffix, unit in SUFFIXES.items() if metric.name.endswith(suffix)]
    assert metric.unit == (units[0] if units else "")
    assert re.fullmatch("[a-z][a-z0-9_]*", metric.name), "a column, and a keyword of report()"
    assert metric.doc


def test_an_objective_has_a_direction() -> None:
    assert (maximize("val_acc").sign, minimize("step_ms").sign) == (1.0, -1.0)
    named = Objective("val_acc", "maximize")  # type: ignore[arg-type]
    assert (maximize("val_acc"), named.sign) == (named, 1.0)
    assert str(minimize("step_ms").goal) == "minimize", "as sweep.json has it"


@pytest.mark.parametrize(
    "names",
    [["val_acc", "test_acc", "train_loss", "val_balanced_acc", "val_auc", "val_majority_share",
     "macro_f1", "error_rate", "perplexity", "epochs", "steps", "hits_at_10", "top5_acc",
     "first_epoch_loss", "all_acc", "val_classes_predicted", "rmse", "mean_reward"],
    ["samples_per_s", "samples_per_s_low", "samples_per_s_within_high", "train_s", "step_ms",
     "peak_rss_gib", "cpu_util", "faults_per_step", "headroom", "time_to_accuracy",
     "tokens_per_s", "tokens_per_second", "load_ms", "peak_gb", "latency", "training_time",
     "kteps", "mfu", "qps", "goodput", "elapsed", "lat_p99", "max_mem", "watts", "loss_ms"]],
    ids=["learned", "not learned"],
)  # fmt: skip
def test_what_was_learned_is_of_every_run_and_the_rest_of_clean_ones(names: list[str]) -> None:
    assert {is_learned(name) for name in names} == {"val_acc" in names}


def test_no_measured_time_or_rate_counts_as_learned() -> None:
    assert not [metric.name for metric in MEASURED if metric.learned and metric.unit]


# -- rules as a sweep file states them


RULES = [
    fastest_within(),
    fastest_within("val_acc", 0.005),
    fastest_within("peak_rss_gib", 0.1, relative=True),
    knee(),
    weighted(samples_per_s=1, val_acc=10),
    SelectionRule(kind=RuleKind.FUNCTION, name="mine", source="def mine(configs): ..."),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_rule_is_read_back_as_it_was_written(rule: SelectionRule) -> None:
    assert msgspec.convert(json.loads(json.dumps(rule.to_json())), SelectionRule) == rule


def test_only_what_is_stated_is_written() -> None:
    assert fastest_within().to_json() == {"kind": "fastest_within"}
    assert knee().to_json() == {"kind": "knee"}


def test_a_function_is_known_by_its_name_and_code_alone() -> None:
    rule = SelectionRule(kind=RuleKind.FUNCTION, name="mine", source="...", function=max)
    assert rule == SelectionRule(kind=RuleKind.FUNCTION, name="mine", source="...")
    assert "function" not in rule.to_json()
    assert "max" not in repr(rule)

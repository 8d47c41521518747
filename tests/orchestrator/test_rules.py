"""Rules as a sweep file states them, and as ``sweep.json`` has them."""

from __future__ import annotations

import json

import msgspec
import pytest

from orchestrator.rules import RuleKind, SelectionRule, fastest_within, knee, weighted

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

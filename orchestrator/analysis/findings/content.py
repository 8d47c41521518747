"""``recommended.json``: the answer of a run, and all that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.rule_words import rule_text

SCHEMA_VERSION: Final = 2
"""1 had no number, its figures beside everything else, and neither an answer nor a cost."""


def recommended_json(found: Findings, key: str = "") -> dict[str, Any]:
    """Return the content of ``recommended.json``; what is not known is null.

    ``speedup`` has figures only where they lead.

    Args:
        found: The findings of the run.
        key: Key of the run; empty where it is not known.
    """
    config, baseline, choice = found.config, dict(found.sweep.baseline), found.choice
    return {
        "schema_version": SCHEMA_VERSION,
        "status": found.status,
        "sentence": found.sentence,
        "config": config,
        "changed": {
            change.knob: {"value": (config or {})[change.knob], "baseline": baseline[change.knob]}
            for change in found.changes
        },
        "command": list(found.command),
        "speedup": _speedup(found),
        "accuracy_difference": _difference(found),
        "figures": _plain(found.figures),
        "baseline": {"config": baseline, "figures": _plain(found.baseline_figures)},
        "cost": dict(found.cost),
        "checks": [
            {"name": one.code, "health": one.health, "text": one.text} for one in found.checks
        ],
        "interval": found.interval,
        "measured_in": found.measured_in,
        "composed": found.composed,
        "num_runs": dict(found.num_runs),
        "verdict": found.verdict,
        "noise_floor": found.noise and found.noise.to_json(),
        "drift": found.drift and found.drift.to_json(),
        "interference": found.interference and found.interference.to_json(),
        "why": found.why,
        "how_sure": found.how_sure,
        "notes": list(found.notes),
        "rule": rule_text(found.rule),
        "data": found.sweep.data,
        "as_fast": list(choice.tied if choice else ()),
        "unresolved": list(choice.unresolved if choice else ()),
        "run": key,
    }


def _speedup(found: Findings) -> dict[str, Any] | None:
    speedup, known = found.speedup, found.known_speedup
    if speedup is None:
        return None
    return {
        "ratio": known and known.ratio,
        "low": known and known.low,
        "high": known and known.high,
        "basis": str(speedup.basis),
        "num_pairs": speedup.num_pairs,
        "searching_ratio": known and known.searching_ratio,
        "why_not_known": found.why_not_known,
        "text": found.how_sure,
    }


def _difference(found: Findings) -> dict[str, Any] | None:
    difference = found.difference
    if difference is None:
        return None
    ends = {"low": difference.low, "high": difference.high}
    return {"metric": found.rule.accuracy.metric, "centre": difference.centre, **ends}


def _plain(figures: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if pd.isna(value) else float(value) for name, value in figures.items()}

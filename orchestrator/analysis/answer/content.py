"""``recommended.json``: the answer of a run, and all that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.answer.answer import Answer
from orchestrator.analysis.recommendation.recommend import Recommendation
from orchestrator.analysis.rule_words import rule_text
from orchestrator.storage.belonging import RUN_KEY

SCHEMA_VERSION: Final = 2
"""1 had no number, its figures beside everything else, and neither an answer nor a cost."""


def recommended_json(
    recommendation: Recommendation, answer: Answer, key: str = ""
) -> dict[str, Any]:
    """Return the content of ``recommended.json``; what is not known is null.

    ``speedup`` has figures only where they lead, see :func:`~orchestrator.analysis.answer.answer`.

    Args:
        recommendation: The recommendation.
        answer: The answer that is made of it.
        key: Key of the run; empty where it is not known.
    """
    config, baseline = recommendation.config, recommendation.baseline
    return {
        "schema_version": SCHEMA_VERSION,
        "status": answer.status,
        "sentence": answer.sentence,
        "config": config,
        "changed": {
            change.knob: {"value": (config or {})[change.knob], "baseline": baseline[change.knob]}
            for change in answer.changed
        },
        "command": list(recommendation.command),
        "speedup": _speedup(recommendation, answer),
        "accuracy_difference": answer.accuracy_difference
        and {"metric": recommendation.rule.accuracy.metric, **asdict(answer.accuracy_difference)},
        "figures": _plain(recommendation.figures),
        "baseline": {"config": baseline, "figures": _plain(recommendation.baseline_figures)},
        "cost": dict(answer.cost),
        "checks": [asdict(check) for check in answer.checks],
        "interval": recommendation.interval,
        "measured_in": recommendation.measured_in,
        "composed": recommendation.composed,
        "num_runs": dict(recommendation.num_runs),
        "verdict": recommendation.verdict,
        "noise_floor": recommendation.noise and recommendation.noise.to_json(),
        "drift": recommendation.drift and recommendation.drift.to_json(),
        "interference": recommendation.interference and recommendation.interference.to_json(),
        "why": recommendation.why,
        "how_sure": recommendation.how_sure,
        "notes": list(recommendation.notes),
        "rule": rule_text(recommendation.rule),
        "data": recommendation.data,
        "as_fast": list(recommendation.tied),
        "unresolved": list(recommendation.unresolved),
        RUN_KEY: key,
    }


def _speedup(recommendation: Recommendation, answer: Answer) -> dict[str, Any] | None:
    speedup, known = recommendation.speedup, answer.speedup
    if speedup is None:
        return None
    return {
        "ratio": known and known.centre,
        "low": known and known.low,
        "high": known and known.high,
        "basis": str(speedup.basis),
        "num_pairs": speedup.num_pairs,
        "searching_ratio": speedup.searching_ratio if known else None,
        "why_not_known": answer.why_not_known,
        "text": recommendation.speedup_text,
    }


def _plain(figures: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if pd.isna(value) else float(value) for name, value in figures.items()}

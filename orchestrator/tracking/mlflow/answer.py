"""The answer of a run, as the analysis left it in the run directory, in MLflow's terms.

The process that writes MLflow may not ask the analysis. It reads ``answer.md``,
``recommended.json`` and ``front.csv``, so that MLflow says what the report says, and says it again
when it is written by hand.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from orchestrator.kernel.events import DAMAGED
from orchestrator.storage.belonging import RUN_KEY, is_of_another, journalled_key
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.mlflow.content import (
    BASELINE_ROLE,
    FRONT_ROLE,
    RECOMMENDED_ROLE,
    Point,
    is_same,
)

FRONT_TABLE: Final = "front.json"
"""Artifact of the parent: the front as a table that MLflow's pages show."""
PARAM_PREFIX: Final = "recommended."


@dataclass(frozen=True, kw_only=True)
class RunAnswer:
    """A run's answer as MLflow gets it; all empty where the analysis has left nothing.

    Attributes:
        note: The answer in Markdown.
        config: The recommended config; {} where nothing is recommended.
        figures: What is known of it, by the metric's name.
        front: The table of the front, its heads first.
        front_trials: Ids of the trials that the front is of.
        at_ms: When the analysis wrote it.
    """

    note: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    front: tuple[tuple[str, ...], ...] = ()
    front_trials: frozenset[str] = frozenset()
    at_ms: int = 0

    def front_table(self) -> str:
        """Return the front as ``mlflow.log_table`` writes a table."""
        heads, *rows = self.front
        cells = [[_number_or_text(cell) for cell in row] for row in rows]
        return json.dumps({"columns": list(heads), "data": cells})

    def role(self, trial: TrialHistory, baseline: Mapping[str, Any]) -> str:
        """Return what a trial's config is to the answer: its roles, or empty."""
        config = trial.trial.config
        roles = (
            (BASELINE_ROLE, _is_config(config, baseline)),
            (RECOMMENDED_ROLE, bool(self.config) and _is_config(config, self.config)),
            (FRONT_ROLE, trial.trial.id in self.front_trials),
        )
        return ", ".join(role for role, holds in roles if holds)


def read_answer(run_dir: Path) -> RunAnswer:
    """Return what the analysis left in a run directory; nothing where that is damaged."""
    try:
        return _read(run_dir)
    except (*DAMAGED, OSError, csv.Error):
        return RunAnswer()


def _read(run_dir: Path) -> RunAnswer:
    recommended = run_dir / RunFile.RECOMMENDED
    content = json.loads(recommended.read_bytes())
    if is_of_another(content.get(RUN_KEY), journalled_key(run_dir)):
        return RunAnswer()
    front = tuple(_rows(run_dir / RunFile.FRONT))
    note = (run_dir / RunFile.ANSWER).read_text("utf-8")
    return RunAnswer(
        note=note.strip(),
        config=dict(content.get("config") or {}),
        figures=dict(_figures(content)),
        front=front,
        front_trials=frozenset(_trial_ids(front)),
        at_ms=recommended.stat().st_mtime_ns // 1_000_000,
    )


def totals(trials: Iterable[TrialHistory]) -> dict[str, float]:
    """Return ``num_trials``, ``trial_hours`` and ``core_hours`` of the trials that have ended."""
    results = [trial.concluded for trial in trials]
    ended = [result for result in results if result is not None]
    return {
        "num_trials": float(len(ended)),
        "trial_hours": sum(r.wall_s or 0.0 for r in ended) / 3600,
        "core_hours": sum((r.wall_s or 0.0) * (r.cores or 0) for r in ended) / 3600,
    }


def parent_points(
    answer: RunAnswer, history: SweepHistory, present: Mapping[str, float], at_ms: int
) -> list[Point]:
    """Return the parent's figures.

    MLflow takes no figure back. One that is there, and is not known any more, becomes NaN.

    Args:
        answer: The answer.
        history: The sweep.
        present: The parent's latest figures in MLflow.
        at_ms: Their time.
    """
    known = {**answer.figures, **totals(history.trials.values())}
    lost = dict.fromkeys(present.keys() - known.keys(), math.nan)
    return [Point(name, value, at_ms, 0) for name, value in (lost | known).items()]


def _figures(content: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the figures that are known: those of ``recommended.json`` that are not null."""
    speedup = content.get("speedup") or {}
    named = {"speedup": "ratio", "speedup_low": "low", "speedup_high": "high"}
    known = {name: speedup.get(key) for name, key in named.items()}
    for name, value in (content.get("figures") or {}).items():
        if not name.endswith(("_low", "_high")):
            known[name] = value
    if difference := content.get("accuracy_difference"):
        known[f"{difference['metric']}_difference"] = difference["centre"]
    yield from ((name, float(value)) for name, value in known.items() if value is not None)


def _rows(path: Path) -> Iterator[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from map(tuple, csv.reader(file))


def _trial_ids(front: tuple[tuple[str, ...], ...]) -> Iterator[str]:
    heads, *rows = front or ((),)
    if "trial_ids" in heads:
        for row in rows:
            yield from row[heads.index("trial_ids")].split()


def _is_config(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(name in other and is_same(value, other[name]) for name, value in config.items())


def _number_or_text(cell: str) -> float | str | None:
    try:
        number = float(cell)
    except ValueError:
        return cell or None
    return number if math.isfinite(number) else cell

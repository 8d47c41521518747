"""The last section of the page: the run and its environment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from orchestrator.analysis.report.tables import when
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule_words import rule_text
from orchestrator.analysis.wording import short
from orchestrator.storage.files import RunFile


def environment_of(view: View) -> list[tuple[str, str]]:
    """Return what was run, and on what, as pairs of a name and a value."""
    sweep = view.sweep
    git = sweep.git or {}
    dirty = " with uncommitted changes" if git.get("dirty") else ""
    budget = {"epochs": sweep.budget.epochs, "steps": sweep.budget.steps}
    pairs = {
        "command": shlex.join(map(str, sweep.command_line)),
        "started": when(sweep.started_at),
        "replayed": sweep.replayed,
        "git commit": f"{git.get('commit') or 'none'}{dirty}",
        "data": sweep.data,
        "data fingerprint": sweep.data_fingerprint,
        "budget of a trial": ", ".join(f"{v} {k}" for k, v in budget.items() if v is not None),
        "search": sweep.search,
        "seed": sweep.seed,
        "repeats": _up_to(sweep.rigor.repeats, sweep.rigor.max_repeats),
        "confirm runs": _up_to(sweep.rigor.confirm, sweep.rigor.max_confirm),
        "cores per trial": sweep.cores_per_trial,
        "isolation": sweep.isolation,
        **_flat("", sweep.hardware),
        **_flat("node ", sweep.nodes),
        "versions": ", ".join(f"{k} {v}" for k, v in sweep.versions.items()),
        "fixed knobs": " ".join(f"{k}={short(v)}" for k, v in sweep.fixed.items()),
        "baseline": " ".join(f"{k}={short(v)}" for k, v in sweep.baseline.items()),
        "rule": rule_text(view.rule),
    }
    pairs |= {"MLflow": " ".join(_mlflow(view))}
    return [(name, str(value)) for name, value in pairs.items() if value not in (None, "")]


def _mlflow(view: View) -> list[str]:
    """Return what shows the run in MLflow's pages; nothing where it is in none, or not known."""
    if view.run_dir is None:
        return []
    try:
        return (view.run_dir / RunFile.MLFLOW).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _up_to(planned: int, most: int) -> str:
    """Return ``3, up to 12``: a number of runs, and the most that it may be extended to."""
    return f"{planned}, up to {most}" if planned and most > planned else f"{planned}"


def _flat(prefix: str, tree: Mapping[str, Any]) -> dict[str, str]:
    """Return ``{"cpu model": ...}`` from a mapping that may hold others."""
    flat: dict[str, str] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            flat |= _flat(f"{name} ", value)
        elif isinstance(value, list):
            flat[name] = ", ".join(map(str, value)) or "none"
        else:
            flat[name] = f"{value:.4g}" if isinstance(value, float) else str(value)
    return flat

"""The last section of the page: the run and its environment."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule_words import rule_text
from orchestrator.analysis.wording import short
from orchestrator.storage.files import RunFile


def environment_of(view: View) -> Section:
    """Return the sweep and its environment, as names with their values."""
    sweep = view.sweep
    git, rigor = sweep.git or {}, sweep.rigor
    dirty = " with uncommitted changes" if git.get("dirty") else ""
    budget = {"epochs": sweep.budget.epochs, "steps": sweep.budget.steps}
    mlflow = view.run_dir and view.run_dir / RunFile.MLFLOW
    facts = {
        "command": shlex.join(map(str, sweep.command_line)),
        "started": sweep.started_at
        and f"{datetime.fromtimestamp(sweep.started_at, UTC):%Y-%m-%d %H:%M} UTC",
        "replayed": sweep.replayed,
        "git commit": f"{git.get('commit') or 'none'}{dirty}",
        "data": sweep.data,
        "data fingerprint": sweep.data_fingerprint,
        "budget of a trial": ", ".join(f"{v} {k}" for k, v in budget.items() if v is not None),
        "search": sweep.search,
        "seed": sweep.seed,
        "repeats": f"{rigor.repeats}, up to {max(rigor.repeats, rigor.max_repeats)}",
        "confirm runs": f"{rigor.confirm}, up to {max(rigor.confirm, rigor.max_confirm)}",
        "cores per trial": sweep.cores_per_trial,
        "isolation": sweep.isolation,
        **_flat("", sweep.hardware),
        **_flat("node ", sweep.nodes),
        "versions": ", ".join(f"{k} {v}" for k, v in sweep.versions.items()),
        "fixed knobs": " ".join(f"{k}={short(v)}" for k, v in sweep.fixed.items()),
        "baseline": " ".join(f"{k}={short(v)}" for k, v in sweep.baseline.items()),
        "rule": rule_text(view.rule),
        "MLflow": " ".join(mlflow.read_text("utf-8").split())
        if mlflow and mlflow.is_file()
        else "",
    }
    known = tuple((name, str(value)) for name, value in facts.items() if value not in (None, ""))
    return Section(name="environment", title="Environment", facts=known)


def _flat(prefix: str, tree: Mapping[str, Any]) -> dict[str, str]:
    """Return ``{"cpu model": ...}`` from a mapping that may have others within."""
    flat: dict[str, str] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, Mapping):
            flat |= _flat(f"{name} ", value)
        elif isinstance(value, list):
            flat[name] = ", ".join(map(str, value)) or "none"
        else:
            flat[name] = short(value)
    return flat

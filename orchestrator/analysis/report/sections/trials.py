"""All trials, those that did not complete, their number by state; and their environment."""

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pandas as pd

from orchestrator.analysis import columns
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.report import tables
from orchestrator.analysis.report.view import View, are_marked, limited
from orchestrator.analysis.statistics.curves import last_of_curves
from orchestrator.analysis.wording import format_config, rule_text, short
from orchestrator.metric_table import Place, names_shown
from orchestrator.metrics import is_accuracy
from orchestrator.storage.files import RunFile
from orchestrator.texts import cause
from orchestrator.trial import LOAD, TrialState

MAX_ROWS: Final = 500
"""A page with more rows is slow to open; ``trials.csv`` has them all."""

MAX_CONFIGS: Final = 4
"""Configs that are named for a reason."""

_CONTINUED: Final = "paused and resumed"
_TAGS: Final = ("bound", LOAD, "oversubscribed")


def was_resumed(trials: pd.DataFrame) -> "pd.Series[bool]":
    """Return True for trials that were paused and that a later trial of the curve resumed."""
    return (trials["state"] == TrialState.STOPPED) & ~last_of_curves(trials)


def counts_of_states(trials: pd.DataFrame) -> dict[str, int]:
    """Return the number of trials in each state that occurs, by its words.

    A ``stopped`` trial is a config that the search has ended. If a trial was paused and a later
    trial resumed its learning curve, it is counted separately.
    """
    counts = trials["state"].where(~was_resumed(trials), _CONTINUED).value_counts()
    order = dict.fromkeys([TrialState.COMPLETED, TrialState.STOPPED, _CONTINUED, *TrialState])
    return {str(name).replace("_", " "): int(counts[name]) for name in order if name in counts}


def states_text(trials: pd.DataFrame) -> str:
    """Return ``30 completed, 1 stopped``."""
    return ", ".join(f"{count:,} {words}" for words, count in counts_of_states(trials).items())


def trials_of(view: View) -> tables.Section:
    """Return the section with every trial, with the knobs that distinguish them and the figures.

    If there are more than :data:`MAX_ROWS`: the front, the baseline and the recommended
    config, and the first of the others. Figures that are no objective are the table's rest.
    """
    if view.trials.empty:
        return tables.Section("trials", "All trials", missing="no trial has run")
    marked = view.shown[are_marked(view.shown)]["trial_ids"].explode()
    trials = limited(view.trials, MAX_ROWS, view.trials["trial_id"].isin(marked))
    trials = trials.assign(remarks=_remarks(trials))
    first = tables.measured(trials, [o.metric for o in view.rule.objectives])
    names = [column.removeprefix("metrics.") for column in columns.metrics_of(trials)]
    names = [*filter(is_accuracy, names), *names_shown(Place.TRIALS)]
    rest = [metric for metric in tables.measured(trials, names) if metric not in first]
    records = trials.to_dict("records")
    outputs, (knobs, other_knobs) = view.outputs, tables.knob_columns(view, records)
    heads = [
        ("trial", lambda row: tables.Cell(row["trial_id"], link=outputs.get(row["trial_id"], ""))),
        tables.text_column("stage", "stage"),
        ("state", lambda row: tables.Cell(row["state"].replace("_", " "))),
        *knobs,
        *tables.figure_columns(first),
        *[tables.text_column("conditions", GROUP)] * (view.trials[GROUP].nunique() > 1),
        tables.text_column("remarks", "remarks"),
        ("wall_s", lambda row: tables.figure_cell("wall_s", row.get("wall_s", float("nan")))),
        *other_knobs,
        *tables.figure_columns(rest),
    ]
    table = tables.table_of(
        records,
        heads,
        marks=tuple(trials["state"]),
        num_left_out=len(view.trials) - len(trials),
        num_rest=len(other_knobs) + len(rest),
        sortable=True,
    )
    links = "a trial's name opens what it has printed, in output/ of the run directory"
    return tables.Section("trials", "All trials", table=table, notes=(links,) * bool(outputs))


def _remarks(trials: pd.DataFrame) -> list[str]:
    """Return the flags of each trial and the first line of its reason."""
    parts = [columns.texts_of(trials, "reason").str.split("\n").str[0]]
    for name in reversed(_TAGS):
        words = f"{name}: " + columns.texts_of(trials, f"tags.{name}")
        parts.insert(0, words.where(columns.tagged(trials, name), ""))
    return ["; ".join(filter(None, words)) for words in zip(*parts, strict=True)]


def lost_of(view: View) -> tables.Section | None:
    """Return the trials that did not complete, the most frequent reason first.

    Trials that were paused and later resumed are left out.
    """
    is_lost = (view.trials["state"] != TrialState.COMPLETED) & ~was_resumed(view.trials)
    lost = view.trials[is_lost]
    causes = lost["reason"].map(columns.text_of).map(cause)
    groups = [some for _, some in lost.groupby(["state", causes], sort=False)]
    if not groups:
        return None
    heads = [
        ("trials", lambda row: tables.Cell(f"{row['num']:,}", row["num"])),
        tables.text_column("state", "state"),
        ("reason", lambda row: tables.Cell(row["reason"], style="reason")),
        ("configs", lambda row: tables.Cell(row["configs"], style="lines")),
        ("printed", lambda row: tables.Cell("output" if row["output"] else "", link=row["output"])),
    ]
    records = [_lost(some, view) for some in sorted(groups, key=len, reverse=True)]
    return tables.Section("lost", "What did not complete", table=tables.table_of(records, heads))


def _lost(rows: pd.DataFrame, view: View) -> dict[str, Any]:
    """Return the trials of one state and cause, with the first configs among them."""
    configs = rows[columns.params_of(rows)].drop_duplicates()
    named = configs.head(MAX_CONFIGS).to_dict("records")
    names = [format_config(columns.config_of(row, view.sweep), view.sweep) for row in named]
    state = rows["state"].iloc[0]
    none = "the search had seen enough" if state == TrialState.STOPPED else "no reason recorded"
    return {
        "num": len(rows),
        "state": state.replace("_", " "),
        "reason": columns.text_of(rows["reason"].iloc[0]) or none,
        "configs": "\n".join(names + ["and more"] * (len(configs) > len(named))),
        "output": next(filter(None, map(view.outputs.get, rows["trial_id"])), ""),
    }


def environment_of(view: View) -> tables.Section:
    """Return the sweep and its environment, as names with their values."""
    sweep = view.sweep
    git = sweep.git or {}
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
        **sweep.rigor.numbers_of_runs,
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
    return tables.Section("environment", "Environment", facts=known)


def _flat(prefix: str, tree: Mapping[str, Any]) -> dict[str, str]:
    """Return ``{"cpu model": ...}`` from a mapping that may have others within."""
    cells = pd.json_normalize(dict(tree), sep=" ").to_dict("records")[0] if tree else {}
    texts = {
        name: (", ".join(map(str, cell)) or "none") if isinstance(cell, list) else short(cell)
        for name, cell in cells.items()
    }
    return {f"{prefix}{name}".replace("_", " "): text for name, text in texts.items()}

"""Three saved views of the experiment's page: the answer, its charts, what did not complete.

MLflow keeps a saved view as a tag of the experiment, ``mlflow.sharedViewState.<id>``. Its text is
an envelope ``{name, createdAt, updatedAt, state}``; the state is the page's own, as JSON. The names
of the state's parts were read in the page's code of MLflow 3.17.2; a page that does not know one
ignores it.

The views are of the experiment's latest run of a sweep: MLflow's page cannot choose the run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.metrics import Goal, Objective, is_learned
from orchestrator.storage.history import TrialHistory
from orchestrator.tracking.mlflow.content import BASELINE_ROLE, MirroredRun, is_same
from orchestrator.tracking.mlflow.uris import MODEL_TRAINING
from orchestrator.trial import Stage, TrialState

VIEW_TAG: Final = "mlflow.sharedViewState."
MAX_KNOBS: Final = 20
"""Knobs that have a column and an axis; with more nothing can be read, and the page's limit of
20,000 characters a view is near."""

ANSWER, CHARTS, INCOMPLETE = "sweep-answer", "sweep-charts", "sweep-incomplete"
NAMES: Final = {ANSWER: "Answer", CHARTS: "Charts", INCOMPLETE: "What did not complete"}
"""Names of our views by id, in the order in which they are to be looked at."""

_FURTHER: Final = ("peak_gpu_gib", "peak_rss_gib", "epoch_s", "train_s")
"""Metrics that the views show with the objectives, where they were measured."""
_RUN_NAME: Final = "attributes.`Run Name`"
_MAX_RUNS: Final = 100
"""Most runs in a scatter plot; the page itself loads as many at first."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Knobs, figures and ids of a run that the views show.

    Attributes:
        key: The run's key, which the tag ``sweep.run`` of its children has.
        speed: The objective that is shown first.
        accuracy: The objective that is shown with it; empty where there is none.
        is_speed_maximized: True if a larger ``speed`` is better.
        knobs: The knobs that vary between the trials that completed.
        all_knobs: The knobs that vary between all trials.
        others: Further metrics to show, that some trial has.
        baseline: MLflow's id of a run of the baseline, or empty.
        at_ms: Time of the views, as MLflow shows it.
    """

    key: str
    speed: str
    accuracy: str
    is_speed_maximized: bool
    knobs: Sequence[str]
    all_knobs: Sequence[str]
    others: Sequence[str]
    baseline: str
    at_ms: int

    @property
    def metrics(self) -> list[str]:
        """The metrics that have a column, the first ones first."""
        return [name for name in dict.fromkeys((self.speed, self.accuracy, *self.others)) if name]


def shown_of(run: MirroredRun, at_ms: int) -> Shown:
    """Return what the views of a run show, at a time."""
    sweep = run.history.sweep
    aims = [o for o in sweep.objectives if o.bound is None] or list(sweep.objectives)
    speed = aims[0]
    trials = list(run.history.trials.values())
    completed = [trial for trial in trials if _is_completed(trial)]
    measured = {name for trial in completed for name in trial.figures()}
    others = [o.metric for o in sweep.objectives if o is not speed]
    return Shown(
        key=run.history.key,
        speed=speed.metric,
        accuracy=_accuracy(sweep.objectives, speed, measured),
        is_speed_maximized=speed.goal is Goal.MAXIMIZE,
        knobs=_varied(completed),
        all_knobs=_varied(trials),
        others=[*others, *(name for name in _FURTHER if name in measured)],
        baseline=_baseline_run(run),
        at_ms=at_ms,
    )


def _accuracy(objectives: tuple[Objective, ...], speed: Objective, measured: set[str]) -> str:
    """Return what is shown of learning, as the report does it."""
    others = [o.metric for o in objectives if o is not speed]
    learned = [name for name in others if is_learned(name)]
    known = ["val_acc"] if "val_acc" in measured else []
    return next(iter([*learned, *others, *known]), "")


def _varied(trials: list[TrialHistory]) -> list[str]:
    """Return the knobs that have several values."""
    if not trials:
        return []
    first = trials[0].trial.config
    return [
        name
        for name, value in first.items()
        if any(not is_same(one.trial.config.get(name), value) for one in trials)
    ]


def _baseline_run(run: MirroredRun) -> str:
    """Return a run of the baseline that others are compared with, a confirm run if there is one."""
    runs = {
        trial.trial.stage: child.run_id
        for trial, child in run.trials
        if BASELINE_ROLE in child.role and _is_completed(trial)
    }
    return runs.get(Stage.CONFIRM) or runs.get(Stage.TRAIN) or ""


def _is_completed(trial: TrialHistory) -> bool:
    return trial.concluded is not None and trial.concluded.state is TrialState.COMPLETED


def view_tags(shown: Shown) -> dict[str, str]:
    """Return the experiment's tags that are its views, by name."""
    times = {"createdAt": shown.at_ms, "updatedAt": shown.at_ms}
    return {
        f"{VIEW_TAG}{view_id}": json.dumps(
            {"name": NAMES[view_id], **times, "state": json.dumps(state)}
        )
        for view_id, state in _states(shown).items()
    }


def links(experiment_id: str) -> str:
    """Return links to the views, as Markdown for a run's note."""
    page = f"#/experiments/{experiment_id}/runs?{MODEL_TRAINING}"
    modes = {CHARTS: "&compareRunsMode=CHART"}  # not part of a view
    texts = [
        f"[{name}]({page}&viewStateShareKey={view_id}{modes.get(view_id, '')})"
        for view_id, name in NAMES.items()
    ]
    return f"Views of this experiment's latest run: {', '.join(texts)}"


def _states(shown: Shown) -> dict[str, dict[str, Any]]:
    of_run = f"tags.`sweep.run` = '{shown.key}'"
    trained = f"{of_run} and tags.stage != 'probe' and tags.state = 'completed'"
    order = {"orderByKey": f"metrics.`{shown.speed}`", "orderByAsc": not shown.is_speed_maximized}
    knobs, all_knobs = (
        [f"params.`{name}`" for name in names[:MAX_KNOBS]]
        for names in (shown.knobs, shown.all_knobs)
    )
    figures = [f"metrics.`{name}`" for name in shown.metrics]
    places = ["tags.`sweep.role`", "tags.`stage`"]
    results = [*places, *figures, *knobs, "tags.`repeat`"]
    reasons = ["tags.`state`", "tags.`reason`", "tags.`stage`", *all_knobs, "attributes.`Duration`"]
    return {
        ANSWER: {"searchFilter": trained, **order, **_columns(results)},
        CHARTS: {"searchFilter": trained, **order, **_columns(results), **_charts(shown)},
        INCOMPLETE: {
            "searchFilter": f"{of_run} and tags.state != 'completed'",
            "orderByKey": "tags.`state`",  # sorted by time the page would show parents instead
            "orderByAsc": True,
            **_columns(reasons),
        },
    }


def _columns(columns: Sequence[str]) -> dict[str, Any]:
    widths = {_RUN_NAME: 280, "tags.`sweep.role`": 150, "tags.`reason`": 300}
    order = [_RUN_NAME, *columns]
    return {"selectedColumns": list(columns), "columnOrder": order, "columnWidths": widths}


def _charts(shown: Shown) -> dict[str, Any]:
    """Return the charts; those that MLflow generates, one a metric, are folded in below."""
    common = {"runsCountToCompare": _MAX_RUNS, "metricSectionId": "answer", "deleted": False}
    sections = (("answer", "Speed and accuracy", True), ("rest", "Model metrics", False))
    return {
        "compareRunCharts": [
            {**common, "uuid": f"{CHARTS}-{chart['type'].lower()}", "isGenerated": False, **chart}
            for chart in _drawn(shown)
        ],
        "compareRunSections": [
            {"uuid": uuid, "name": name, "display": is_open, "isReordered": False,
             "columns": 2, "cardHeight": 420,
             "deleted": False, "isGenerated": not is_open}
            for uuid, name, is_open in sections
        ],
        "isAccordionReordered": True,  # ours first, not by the alphabet
        "runsHiddenMode": "SHOW_ALL",
    }  # fmt: skip


def _drawn(shown: Shown) -> list[dict[str, Any]]:
    parallel: dict[str, Any] = {
        "type": "PARALLEL",
        "selectedParams": list(shown.knobs[:MAX_KNOBS]),
        "selectedMetrics": shown.metrics[2::-1],  # the last one colours the lines: the speed
        "showAllRuns": True,
    }
    charts: list[dict[str, Any]] = [parallel]
    if shown.accuracy:
        axes = {
            "xaxis": {"key": shown.accuracy, "type": "METRIC"},
            "yaxis": {"key": shown.speed, "type": "METRIC"},
        }
        charts.insert(0, {"type": "SCATTER", **axes})
    if shown.baseline:
        charts.append(
            {
                "type": "DIFFERENCE",
                "chartName": "Difference against the baseline",
                "compareGroups": ["Parameters", "Model metrics"],
                "showChangeFromBaseline": True,
                "showDifferencesOnly": True,
                "baselineColumnUuid": shown.baseline,
            }
        )
    return charts

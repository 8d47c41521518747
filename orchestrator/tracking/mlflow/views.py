"""Three saved views of the experiment's page: the answer, its charts, what did not complete.

MLflow keeps a saved view as a tag of the experiment, ``mlflow.sharedViewState.<id>``. Its text is
an envelope ``{name, createdAt, updatedAt, state}``; the state is the page's own, as JSON. The names
of the state's parts were read in the page's code of MLflow 3.17.2; a page that does not know one
ignores it.

The views are of the experiment's latest run of a sweep: MLflow's page cannot choose the run.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from orchestrator.metrics import Goal, Objective, is_learned
from orchestrator.space.configs import changed_knobs
from orchestrator.storage.history import TrialHistory
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.tracking.mlflow.content import MirroredRun, mlflow_name
from orchestrator.tracking.mlflow.uris import MODEL_TRAINING
from orchestrator.trial import TrialState

VIEW_TAG: Final = "mlflow.sharedViewState."
MAX_KNOBS: Final = 20
"""Knobs that have a column and an axis; with more nothing can be read, and the page's limit of
20,000 characters a view is near."""

ANSWER, CHARTS, INCOMPLETE = "sweep-answer", "sweep-charts", "sweep-incomplete"
NAMES: Final = {ANSWER: "Answer", CHARTS: "Charts", INCOMPLETE: "What did not complete"}
"""Names of our views by id, in the order in which they are to be looked at."""

_FURTHER: Final = ("peak_gpu_gib", "peak_rss_gib", "train_s")
"""Metrics that the views show with the objectives, where they were measured."""
_RUN_NAME: Final = "attributes.`Run Name`"
_MAX_RUNS: Final = 100
"""Most runs in a scatter plot; the page itself loads as many at first."""


def view_tags(run: MirroredRun, at_ms: int, speed_name: str = "") -> dict[str, str]:
    """Return the experiment's tags that are its views, by name.

    Args:
        run: The run.
        at_ms: Time of the views.
        speed_name: Metric of a config's speed in the answer; empty without one: each trial's own.
    """
    times = {"createdAt": at_ms, "updatedAt": at_ms}
    return {
        f"{VIEW_TAG}{view_id}": json.dumps(
            {"name": NAMES[view_id], **times, "state": json.dumps(state)}
        )
        for view_id, state in _states(run, speed_name).items()
    }


def _metrics(
    sweep: SweepRecord, speed: Objective, completed: list[TrialHistory], speed_name: str
) -> list[str]:
    """Return MLflow's names of the metrics with a column: speed, accuracy, the others."""
    measured = {name for trial in completed for name in trial.figures()}
    others = [o.metric for o in sweep.objectives if o is not speed]
    learned = [name for name in others if is_learned(name)]
    known = [name for name in ("val_acc",) if name in measured]
    accuracy = [*learned, *others, *known][:1]
    further = [name for name in _FURTHER if name in measured]
    shown = dict.fromkeys([speed_name or speed.metric, *accuracy, *others, *further])
    return list(map(mlflow_name, shown))


def _varied(trials: list[TrialHistory]) -> list[str]:
    """Return MLflow's names of the knobs that have several values."""
    if not trials:
        return []
    first = trials[0].trial.config
    varied = {name for one in trials for name in changed_knobs(first, one.trial.config)}
    return [mlflow_name(name) for name in first if name in varied]


def links(experiment_id: str) -> str:
    """Return links to the views, as Markdown for a run's note."""
    page = f"#/experiments/{experiment_id}/runs?{MODEL_TRAINING}"
    modes = {CHARTS: "&compareRunsMode=CHART"}  # not part of a view
    texts = [
        f"[{name}]({page}&viewStateShareKey={view_id}{modes.get(view_id, '')})"
        for view_id, name in NAMES.items()
    ]
    return f"Views of this experiment's latest run: {', '.join(texts)}"


def _states(run: MirroredRun, speed_name: str) -> dict[str, dict[str, Any]]:
    sweep, trials = run.history.sweep, list(run.history.trials.values())
    completed = [t for t in trials if t.concluded and t.concluded.state is TrialState.COMPLETED]
    knobs, all_knobs = _varied(completed)[:MAX_KNOBS], _varied(trials)[:MAX_KNOBS]
    speed = next((o for o in sweep.objectives if o.bound is None), sweep.objectives[0])
    metrics = _metrics(sweep, speed, completed, speed_name)
    of_run = f"tags.`sweep.run` = '{run.history.key}'"
    trained = f"{of_run} and tags.stage != 'probe' and tags.state = 'completed'"
    is_ascending = speed.goal is Goal.MINIMIZE
    order = {"orderByKey": f"metrics.`{metrics[0]}`", "orderByAsc": is_ascending}
    params, all_params = ([f"params.`{n}`" for n in names] for names in (knobs, all_knobs))
    figures = [f"metrics.`{name}`" for name in metrics]
    results = ["tags.`sweep.role`", "tags.`stage`", *figures, *params, "tags.`repeat`"]
    reasons = ["tags.`state`", "tags.`reason`", "tags.`stage`", *all_params]
    has_accuracy = len(sweep.objectives) > 1 or metrics[1:2] == ["val_acc"]
    charts = _charts(_drawn(metrics, knobs, has_accuracy))
    return {
        ANSWER: {"searchFilter": trained, **order, **_columns(results)},
        CHARTS: {"searchFilter": trained, **order, **_columns(results), **charts},
        INCOMPLETE: {
            "searchFilter": f"{of_run} and tags.state != 'completed'",
            "orderByKey": "tags.`state`",  # sorted by time the page would show parents instead
            "orderByAsc": True,
            **_columns([*reasons, "attributes.`Duration`"]),
        },
    }


def _columns(columns: Sequence[str]) -> dict[str, Any]:
    widths = {_RUN_NAME: 280, "tags.`sweep.role`": 150, "tags.`reason`": 300}
    order = [_RUN_NAME, *columns]
    return {"selectedColumns": list(columns), "columnOrder": order, "columnWidths": widths}


def _charts(drawn: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the charts; those that MLflow generates, one a metric, are folded in below."""
    common = {"runsCountToCompare": _MAX_RUNS, "metricSectionId": "answer", "deleted": False}
    sections = (("answer", "Speed and accuracy", True), ("rest", "Model metrics", False))
    return {
        "compareRunCharts": [
            {**common, "uuid": f"{CHARTS}-{chart['type'].lower()}", "isGenerated": False, **chart}
            for chart in drawn
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


def _drawn(metrics: list[str], knobs: list[str], has_accuracy: bool) -> list[dict[str, Any]]:
    parallel: dict[str, Any] = {
        "type": "PARALLEL",
        "selectedParams": knobs,
        "selectedMetrics": metrics[2::-1],  # the last one colours the lines: the speed
        "showAllRuns": True,
    }
    if not has_accuracy:
        return [parallel]
    speed, accuracy = ({"key": name, "type": "METRIC"} for name in metrics[:2])
    return [{"type": "SCATTER", "xaxis": accuracy, "yaxis": speed}, parallel]

"""The end of a sweep in MLflow: the parent shows the answer, children their roles, views open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.metrics import Goal, Objective, is_learned
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.mlflow.answer import (
    FRONT_TABLE,
    PARAM_PREFIX,
    RunAnswer,
    parent_points,
    read_answer,
)
from orchestrator.tracking.mlflow.children import Child
from orchestrator.tracking.mlflow.content import COMPOSED_TAG, ROLE_TAG, is_same, milliseconds
from orchestrator.tracking.mlflow.parent import NOTE_TAG, answer_params, note, outdated
from orchestrator.tracking.mlflow.store import Store
from orchestrator.tracking.mlflow.views import Shown, links, view_tags
from orchestrator.trial import Stage, TrialState

_TABLES_TAG: Final = "mlflow.loggedArtifacts"
"""Tag by which MLflow's pages know an artifact for a table; ``mlflow.log_table`` sets it too."""
_FURTHER: Final = ("peak_gpu_gib", "peak_rss_gib", "epoch_s", "train_s")
"""Metrics that the views show beside the objectives, where they were measured."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A sweep whose end is written to MLflow.

    Attributes:
        history: The sweep.
        run_dir: Its run directory.
        parent_id: MLflow's id of the parent.
        children: MLflow's part of the trials, by trial id.
    """

    history: SweepHistory
    run_dir: Path
    parent_id: str
    children: Mapping[str, Child]

    @property
    def trials(self) -> Iterator[tuple[TrialHistory, Child]]:
        """The trials that MLflow has, in the order of asking."""
        for trial_id, trial in self.history.trials.items():
            if trial_id in self.children:
                yield trial, self.children[trial_id]


def tell_answer(store: Store, told: Told, *, is_whole: bool) -> None:
    """Write the answer; write it again where it was written already.

    Args:
        store: MLflow.
        told: The run.
        is_whole: True where the sweep has run to its end. The answer of half a sweep is in the
            note and the metrics; params are kept for the whole one, since MLflow changes none.
    """
    answer = read_answer(told.run_dir)
    present = store.content(told.parent_id)
    params, changed = answer_params(answer, present.params)
    at_ms = answer.at_ms or milliseconds(told.history.last_at)
    parts = (outdated(changed), answer.note, links(store.experiment_id))
    text = note(
        told.history,
        str(told.run_dir),
        answer="\n\n".join(filter(None, parts)),
        is_composed=COMPOSED_TAG in present.tags,
    )
    tags = {NOTE_TAG: text, **changed}
    store.write(
        told.parent_id,
        params=params if is_whole else None,
        points=parent_points(answer, told.history, present.metrics, at_ms),
        tags=tags,
    )
    for name in present.tags:
        if name.startswith(PARAM_PREFIX) and name not in changed:
            store.delete_tag(told.parent_id, name)
    _give_roles(store, told, answer)
    store.tag_experiment(view_tags(_shown(told, at_ms), store.experiment_tags()))


def upload_front(store: Store, told: Told) -> None:
    """Add the front as a file that MLflow's pages show as a table."""
    answer = read_answer(told.run_dir)
    if answer.front:
        store.upload_text(told.parent_id, FRONT_TABLE, answer.front_table())
        tables = json.dumps([{"path": FRONT_TABLE, "type": "table"}])
        store.write(told.parent_id, tags={_TABLES_TAG: tables})


def _give_roles(store: Store, told: Told, answer: RunAnswer) -> None:
    for trial, child in told.trials:
        role = answer.role(trial, told.history.sweep.baseline)
        if role == child.role:
            continue
        if role:
            store.write(child.run_id, tags={ROLE_TAG: role})
        else:
            store.delete_tag(child.run_id, ROLE_TAG)
        child.role = role


def _shown(told: Told, at_ms: int) -> Shown:
    sweep = told.history.sweep
    aims = [o for o in sweep.objectives if o.bound is None] or list(sweep.objectives)
    speed = aims[0]
    trials = list(told.history.trials.values())
    completed = [trial for trial in trials if _is_completed(trial)]
    measured = {name for trial in completed for name in trial.figures()}
    others = [o.metric for o in sweep.objectives if o is not speed]
    return Shown(
        key=told.history.key,
        speed=speed.metric,
        accuracy=_accuracy(sweep.objectives, speed, measured),
        is_speed_maximized=speed.goal is Goal.MAXIMIZE,
        knobs=_varied(completed),
        all_knobs=_varied(trials),
        others=[*others, *(name for name in _FURTHER if name in measured)],
        baseline=_baseline_run(told),
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


def _baseline_run(told: Told) -> str:
    """Return a run of the baseline that others are compared with, a confirm run if there is one."""
    runs = {
        trial.trial.stage: child.run_id
        for trial, child in told.trials
        if RunAnswer().role(trial, told.history.sweep.baseline) and _is_completed(trial)
    }
    return runs.get(Stage.CONFIRM) or runs.get(Stage.TRAIN) or ""


def _is_completed(trial: TrialHistory) -> bool:
    return trial.concluded is not None and trial.concluded.state is TrialState.COMPLETED

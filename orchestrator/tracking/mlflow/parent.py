"""MLflow's client; and the parent run: the sweep described, its answer once it has ended.

The process that writes MLflow may not ask the analysis. It reads ``answer.md``,
``recommended.json``, ``front.csv`` and ``speeds.csv``, so that MLflow has the same answer as the
report, also when it is written again.
"""

import csv
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mlflow.entities import Metric, Param, Run, RunTag
from mlflow.tracking import MlflowClient

from orchestrator.space.configs import same_config
from orchestrator.storage.files import RunFile, read_recommended
from orchestrator.storage.history import TrialHistory, cell_text
from orchestrator.tracking.mlflow import content
from orchestrator.tracking.mlflow.uris import artifact_root, sqlite_path
from orchestrator.tracking.mlflow.views import links, view_tags

NOTE_TAG: Final = "mlflow.note.content"
"""Tag that MLflow shows at the top of a run's page, as Markdown."""
RUN_DIR_TAG: Final = "sweep.run_dir"
PARAM_PREFIX: Final = "recommended."

_SHORTENED: Final = "... (the rest is in report.html, among the artifacts)"
_NONE: Final = "nothing is recommended"
_BY_SIGNAL: Final = 128
"""A larger exit code is that of a driver that a signal ended."""


class Store:
    """One experiment of one MLflow.

    Attributes:
        client: MLflow's own client.
        experiment_id: MLflow's id of the experiment.
    """

    def __init__(self, uri: str, experiment: str, run: content.MirroredRun) -> None:
        """Connect; create the sqlite file and the experiment if they are absent.

        Args:
            uri: MLflow's tracking URI.
            experiment: Name of the experiment, or empty for the sweep's name.
            run: The run that is mirrored.
        """
        if (file := sqlite_path(uri)) is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        self.client = MlflowClient(uri)
        name, root = experiment or run.history.sweep.name, artifact_root(uri, run.run_dir)
        location = None if root is None else (root / re.sub(r"[^\w.-]", "_", name)).as_uri()
        found = self.client.get_experiment_by_name(name)
        known = None if found is None else found.experiment_id
        # MLflow refuses another one of that name as long as this one is in its bin.
        if found is not None and found.lifecycle_stage == "deleted":
            self.client.restore_experiment(found.experiment_id)
        self.experiment_id = str(known or self.client.create_experiment(name, location))

    def find(self, sweep: str) -> list[Run]:
        """Return the parent and the children of a run of a sweep, oldest first."""
        query, runs, token = f"tags.`{content.SWEEP_TAG}` = '{sweep}'", list[Run](), None
        while True:
            page = self.client.search_runs([self.experiment_id], query, page_token=token)
            runs += page
            token = page.token
            if not token:
                return sorted(runs, key=lambda run: int(run.info.start_time))

    def create(self, name: str, began_ms: int, tags: Mapping[str, str]) -> str:
        """Create a run with its tags in one step; return its id."""
        # With its tags: a writer that takes over after a kill finds by them what there is.
        created = self.client.create_run(self.experiment_id, began_ms, dict(tags), run_name=name)
        return str(created.info.run_id)

    def write(
        self,
        run_id: str,
        *,
        params: Mapping[str, str] | None = None,
        points: Sequence[content.Point] = (),
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Write in as few requests as MLflow's limits allow."""
        self.client.log_batch(
            run_id,
            metrics=[Metric(p.name, p.value, p.at_ms, p.step) for p in points],
            params=[Param(key, value) for key, value in (params or {}).items()],
            tags=[RunTag(key, value) for key, value in (tags or {}).items()],
        )


# -- while trials run


def parent_tags(run: content.MirroredRun) -> dict[str, str]:
    """Return the parent run's tags, which describe the sweep."""
    sweep, git = run.history.sweep, run.history.sweep.git or {}
    texts = {
        content.SWEEP_TAG: run.history.key,
        "mlflow.user": content.user(),
        "mlflow.source.name": sweep.file,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": git.get("commit"),
        NOTE_TAG: note(run),
        "sweep.name": sweep.name,
        RUN_DIR_TAG: str(run.run_dir),
        "sweep.git_dirty": git.get("dirty"),
        "trainable": sweep.trainable,
        "data": sweep.data,
        "data_note": sweep.data_note,
    }
    return {k: cell_text(v)[: content.MAX_TEXT] for k, v in texts.items() if v not in (None, "")}


def note(run: content.MirroredRun, answer: str = "") -> str:
    """Return Markdown, which MLflow shows at the top of the run's page.

    Args:
        run: The run.
        answer: The answer in Markdown, which comes first; empty while trials run.
    """
    sweep = run.history.sweep
    parts = (
        f"**Question:** {sweep.question}",
        f"**Data:** {sweep.data_note}" if sweep.data_note and not answer else "",
        "\n".join(f"- `{name}`: {text}" for name, text in sweep.space.items()),
        f"```\n{shlex.join(sweep.command_line)}\n```",
        f"Run directory: `{run.run_dir}`",
    )
    question = "\n\n".join(filter(None, parts))
    if not answer:
        return question[: content.MAX_TEXT]
    room = content.MAX_TEXT - len(question) - len(_SHORTENED) - 10
    shortened = answer if len(answer) <= room else f"{answer[: max(0, room)]}{_SHORTENED}"
    return f"{shortened}\n\n{question}"[: content.MAX_TEXT]


def parent_status(exit_code: int) -> content.Status:
    """Return the status of the parent for the driver's exit code."""
    if exit_code == 0:
        return content.Status.FINISHED
    return content.Status.KILLED if exit_code > _BY_SIGNAL else content.Status.FAILED


# -- the answer


@dataclass(frozen=True, kw_only=True)
class RunAnswer:
    """A run's answer as MLflow gets it; all empty where the analysis has left nothing.

    Attributes:
        note: The answer in Markdown.
        config: The recommended config; {} where nothing is recommended.
        figures: Its known figures, by the metric's name.
        front: Ids of the trials of the front.
        speeds: Metric and value of the speed of a trial's config, by trial id.
    """

    note: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)
    front: frozenset[str] = frozenset()
    speeds: Mapping[str, tuple[str, float]] = field(default_factory=dict)

    def role(self, trial: TrialHistory, baseline: Mapping[str, Any]) -> str:
        """Return the roles of a trial's config in the answer, or empty."""
        result = trial.result
        config = {**trial.trial.config, **(result.found if result else {})}
        roles = (
            (content.BASELINE_ROLE, same_config(baseline, config)),
            (content.RECOMMENDED_ROLE, same_config(self.config, config)),
            (content.FRONT_ROLE, trial.trial.id in self.front),
        )
        return ", ".join(role for role, holds in roles if holds)


def read_answer(run_dir: Path) -> RunAnswer:
    """Return what the analysis left in a run directory; nothing where it left nothing."""
    found = read_recommended(run_dir)
    if found is None:
        return RunAnswer()
    try:
        note = (run_dir / RunFile.ANSWER).read_text("utf-8")
        front, speeds = (_rows(run_dir / file) for file in (RunFile.FRONT, RunFile.SPEEDS))
    except FileNotFoundError:
        return RunAnswer()
    return RunAnswer(
        note=note.strip(),
        config=dict(found.get("config") or {}),
        figures=dict(_figures(found)),
        front=frozenset(name for row in front for name in row["trial_ids"].split()),
        speeds={
            row["trial_id"]: (
                content.mlflow_name(f"{content.ANSWER_PREFIX}{row['metric']}"),
                float(row["value"]),
            )
            for row in speeds
        },
    )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_answer(store: Store, run: content.MirroredRun, *, is_whole: bool) -> None:
    """Write the answer, also where one was written already.

    MLflow changes no param. So the params are of the first whole answer; the tags of the same names
    have the current values.

    Args:
        store: MLflow.
        run: The run.
        is_whole: True where the sweep has run to its end; without it no params are written.
    """
    answer, present = read_answer(run.run_dir), store.client.get_run(run.parent_id).data
    texts = {
        content.mlflow_name(f"{PARAM_PREFIX}{k}"): cell_text(v)[: content.MAX_TEXT]
        for k, v in answer.config.items()
    }
    new = {name: text for name, text in texts.items() if name not in present.params}
    old = [n for n in (*present.params, *present.tags) if n.startswith(PARAM_PREFIX)]
    # MLflow takes no figure back either: one that is not known any more becomes NaN.
    figures = {content.mlflow_name(name): value for name, value in answer.figures.items()}
    lost = dict.fromkeys(present.metrics.keys() - figures.keys(), math.nan)
    at_ms = content.milliseconds(run.history.last_at)
    text = "\n\n".join(filter(None, (answer.note, links(store.experiment_id))))
    store.write(
        run.parent_id,
        params=new if is_whole else None,
        points=[content.Point(name, value, at_ms, 0) for name, value in (lost | figures).items()],
        tags={NOTE_TAG: note(run, text), **dict.fromkeys(old, _NONE), **texts},
    )
    for trial_id, child in run.children.items():
        role = answer.role(run.history.trials[trial_id], run.history.sweep.baseline)
        speed = answer.speeds.get(trial_id)
        if role != child.role or speed:
            points = [content.Point(*speed, at_ms, 0)] if speed else []
            store.write(child.run_id, points=points, tags={content.ROLE_TAG: role})
            child.role = role
    speed_name = next((name for name, _ in answer.speeds.values()), "")
    for name, view in view_tags(run, at_ms, speed_name).items():
        store.client.set_experiment_tag(store.experiment_id, name, view)


def _figures(found: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the figures that are known: those of ``recommended.json`` that are not null."""
    speedup = found.get("speedup") or {}
    named = {"speedup": "ratio", "speedup_low": "low", "speedup_high": "high"}
    known = {name: speedup.get(key) for name, key in named.items()}
    for name, value in (found.get("figures") or {}).items():
        if not name.endswith(("_low", "_high")):
            known[name] = value
    if difference := found.get("accuracy_difference"):
        known[f"{difference['metric']}_difference"] = difference["centre"]
    yield from ((name, float(value)) for name, value in known.items() if value is not None)

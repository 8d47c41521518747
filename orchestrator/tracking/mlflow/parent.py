"""The parent run: a description of the sweep, and the answer once the sweep has ended."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Final

from orchestrator.storage.history import cell_text
from orchestrator.tracking.mlflow.answer import (
    FRONT_TABLE,
    PARAM_PREFIX,
    RunAnswer,
    parent_points,
    read_answer,
)
from orchestrator.tracking.mlflow.content import (
    COMPOSED_TAG,
    MAX_TEXT,
    PROCESS_TAG,
    ROLE_TAG,
    SWEEP_TAG,
    MirroredRun,
    Status,
    milliseconds,
    user,
)
from orchestrator.tracking.mlflow.store import Store
from orchestrator.tracking.mlflow.views import links, shown_of, view_tags

NOTE_TAG: Final = "mlflow.note.content"
"""Tag that MLflow shows at the top of a run's page, as Markdown."""
RUN_DIR_TAG: Final = "sweep.run_dir"

_COMPOSED: Final = (
    "front and recommendation are composed: speeds from probes, accuracies from learning curves; "
    "see composed.csv among the artifacts"
)
_SHORTENED: Final = "... (the rest is in report.html, among the artifacts)"
_NONE: Final = "nothing is recommended"
_TABLES_TAG: Final = "mlflow.loggedArtifacts"
"""Tag by which MLflow's pages know an artifact for a table; ``mlflow.log_table`` sets it too."""
_BY_SIGNAL: Final = 128
"""A larger exit code is that of a driver that a signal ended."""


# -- while trials run


def parent_tags(run: MirroredRun) -> dict[str, str]:
    """Return the parent run's tags, which describe the sweep."""
    sweep, git = run.history.sweep, run.history.sweep.git or {}
    texts = {
        SWEEP_TAG: run.history.key,
        PROCESS_TAG: run.history.processes[-1],
        "mlflow.user": user(),
        "mlflow.source.name": sweep.file,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": git.get("commit"),
        NOTE_TAG: note(run),
        COMPOSED_TAG: _COMPOSED if run.is_composed else None,
        "sweep.name": sweep.name,
        RUN_DIR_TAG: str(run.run_dir),
        "sweep.git_dirty": git.get("dirty"),
        "trainable": sweep.trainable,
        "data": sweep.data,
        "data_note": sweep.data_note,
    }
    return {k: cell_text(v)[:MAX_TEXT] for k, v in texts.items() if v not in (None, "")}


def note(run: MirroredRun, answer: str = "") -> str:
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
        f"{_COMPOSED[0].upper()}{_COMPOSED[1:]}." if run.is_composed else "",
        f"```\n{shlex.join(sweep.command_line)}\n```",
        f"Run directory: `{run.run_dir}`",
    )
    question = "\n\n".join(filter(None, parts))
    if not answer:
        return question[:MAX_TEXT]
    room = MAX_TEXT - len(question) - len(_SHORTENED) - 10
    shortened = answer if len(answer) <= room else f"{answer[: max(0, room)]}{_SHORTENED}"
    return f"{shortened}\n\n{question}"[:MAX_TEXT]


def parent_status(exit_code: int) -> Status:
    """Return the status of the parent for the driver's exit code."""
    if exit_code == 0:
        return Status.FINISHED
    return Status.KILLED if exit_code > _BY_SIGNAL else Status.FAILED


# -- at the end


def write_answer(store: Store, run: MirroredRun, *, is_whole: bool) -> None:
    """Write the answer, also where one was written already.

    Args:
        store: MLflow.
        run: The run.
        is_whole: True where the sweep has run to its end. The answer of half a sweep is in the
            note and the metrics; params are kept for the whole one, since MLflow changes none.
    """
    answer = read_answer(run.run_dir)
    present = store.data(run.parent_id)
    params, changed = answer_params(answer, present.params)
    at_ms = answer.at_ms or milliseconds(run.history.last_at)
    text = "\n\n".join(filter(None, (_outdated(changed), answer.note, links(store.experiment_id))))
    store.write(
        run.parent_id,
        params=params if is_whole else None,
        points=parent_points(answer, run.history, present.metrics, at_ms),
        tags={NOTE_TAG: note(run, text), **changed},
    )
    for name in present.tags:
        if name.startswith(PARAM_PREFIX) and name not in changed:
            store.delete_tag(run.parent_id, name)
    _give_roles(store, run, answer)
    store.tag_experiment(view_tags(shown_of(run, at_ms), store.experiment_tags()))


def upload_front(store: Store, run: MirroredRun) -> None:
    """Add the front as a file that MLflow's pages show as a table."""
    answer = read_answer(run.run_dir)
    if answer.front:
        store.upload_text(run.parent_id, FRONT_TABLE, answer.front_table())
        tables = json.dumps([{"path": FRONT_TABLE, "type": "table"}])
        store.write(run.parent_id, tags={_TABLES_TAG: tables})


def answer_params(
    answer: RunAnswer, present: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the answer's params that are to be written, and those that MLflow has otherwise.

    MLflow changes no param. A run that was resumed may have another answer; then the params stay
    as they were first written, and the tags of the same names have the present values.

    Args:
        answer: The answer.
        present: The parent's params in MLflow.
    """
    texts = {f"{PARAM_PREFIX}{k}": cell_text(v)[:MAX_TEXT] for k, v in answer.config.items()}
    new = {name: text for name, text in texts.items() if name not in present}
    stale = [name for name in present if name.startswith(PARAM_PREFIX)]
    changed = {name: texts.get(name, _NONE) for name in stale if texts.get(name) != present[name]}
    return new, changed


def _outdated(changed: Mapping[str, str]) -> str:
    """Return the note's sentence on params of an earlier answer, or ""."""
    if not changed:
        return ""
    names = ", ".join(f"`{name}` (now {text})" for name, text in changed.items())
    return (
        "**MLflow keeps a param as it was first written.** These are of an earlier answer of this "
        f"run; the tags of the same names are up to date: {names}."
    )


def _give_roles(store: Store, run: MirroredRun, answer: RunAnswer) -> None:
    for trial, child in run.trials:
        role = answer.role(trial, run.history.sweep.baseline)
        if role == child.role:
            continue
        if role:
            store.write(child.run_id, tags={ROLE_TAG: role})
        else:
            store.delete_tag(child.run_id, ROLE_TAG)
        child.role = role

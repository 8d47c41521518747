"""The parent run: its tags, its note, and the params of the answer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from orchestrator.storage.history import SweepHistory, cell_text
from orchestrator.tracking.mlflow.answer import PARAM_PREFIX, RunAnswer
from orchestrator.tracking.mlflow.content import (
    COMPOSED_TAG,
    MAX_TEXT,
    PROCESS_TAG,
    SWEEP_TAG,
    Status,
    user,
)

NOTE_TAG: Final = "mlflow.note.content"
"""Tag that MLflow shows at the top of a run's page, as Markdown."""

RUN_DIR_TAG: Final = "sweep.run_dir"

COMPOSED_NOTE: Final = (
    "front and recommendation are composed: speeds from probes, accuracies from learning curves; "
    "see composed.csv among the artifacts"
)


def parent_tags(
    history: SweepHistory, run_dir: str, *, is_composed: bool = False
) -> dict[str, str]:
    """Return the parent run's tags, which describe the sweep.

    Args:
        history: The sweep.
        run_dir: Its run directory.
        is_composed: True for a factored search.
    """
    sweep = history.sweep
    git = sweep.git or {}
    texts = {
        SWEEP_TAG: history.key,
        PROCESS_TAG: history.processes[-1],
        "mlflow.user": user(),
        "mlflow.source.name": sweep.file,
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": git.get("commit"),
        NOTE_TAG: note(history, run_dir, is_composed=is_composed),
        COMPOSED_TAG: COMPOSED_NOTE if is_composed else None,
        "sweep.name": sweep.name,
        RUN_DIR_TAG: run_dir,
        "sweep.git_dirty": git.get("dirty"),
        "trainable": sweep.trainable,
        "data": sweep.data,
        "data_note": sweep.data_note,
    }
    return {k: cell_text(v)[:MAX_TEXT] for k, v in texts.items() if v not in (None, "")}


def note(
    history: SweepHistory, run_dir: str, *, answer: str = "", is_composed: bool = False
) -> str:
    """Return Markdown, which MLflow shows at the top of the run's page.

    Args:
        history: The sweep.
        run_dir: Its run directory.
        answer: The answer in Markdown, which comes first; empty while trials run.
        is_composed: True for a factored search.
    """
    sweep = history.sweep
    lines = [f"**Question:** {sweep.question}"]
    if sweep.data_note and not answer:
        lines.append(f"**Data:** {sweep.data_note}")
    lines.append("\n".join(f"- `{name}`: {text}" for name, text in sweep.space.items()))
    if is_composed:
        lines.append(f"{COMPOSED_NOTE[0].upper()}{COMPOSED_NOTE[1:]}.")
    lines.append(f"```\n{shlex.join(sweep.command_line)}\n```")
    lines.append(f"Run directory: `{run_dir}`")
    question = "\n\n".join(line for line in lines if line)
    if not answer:
        return question[:MAX_TEXT]
    room = MAX_TEXT - len(question) - len(_SHORTENED) - 10
    shortened = answer if len(answer) <= room else f"{answer[: max(0, room)]}{_SHORTENED}"
    return f"{shortened}\n\n{question}"[:MAX_TEXT]


_SHORTENED: Final = "... (the rest is in report.html, among the artifacts)"


def answer_params(
    answer: RunAnswer, present: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the params of the answer that are to be written, and those that MLflow has otherwise.

    MLflow changes no param. A run that was gone on with may have another answer; then the params
    stay as they were first written, and the tags of the same names hold.

    Args:
        answer: The answer.
        present: The parent's params in MLflow.
    """
    texts = {f"{PARAM_PREFIX}{k}": cell_text(v)[:MAX_TEXT] for k, v in answer.config.items()}
    new = {name: text for name, text in texts.items() if name not in present}
    stale = [name for name in present if name.startswith(PARAM_PREFIX)]
    changed = {name: texts.get(name, _NONE) for name in stale if texts.get(name) != present[name]}
    return new, changed


_NONE: Final = "nothing is recommended"


def outdated(changed: Mapping[str, str]) -> str:
    """Return the note's sentence on params that are of an earlier answer, or ""."""
    if not changed:
        return ""
    names = ", ".join(f"`{name}` (now {text})" for name, text in changed.items())
    return (
        "**MLflow keeps a param as it was first written.** These are of an earlier answer of this "
        f"run; the tags of the same names hold: {names}."
    )


_BY_SIGNAL: Final = 128
"""A larger exit code is that of a driver which a signal has ended."""


def parent_status(exit_code: int) -> Status:
    """Return the status of the parent for the driver's exit code."""
    if exit_code == 0:
        return Status.FINISHED
    return Status.KILLED if exit_code > _BY_SIGNAL else Status.FAILED

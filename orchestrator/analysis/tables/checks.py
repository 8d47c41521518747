"""Checks of the arguments of a function: a run or a frame, its columns, its objectives.

Every refusal is one :class:`~orchestrator.analysis.columns.TableError`, which names what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

import msgspec
import pandas as pd

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import nearest
from orchestrator.metrics import Goal, Objective, usual_goal
from orchestrator.storage.sweep_record import SweepRecord

Source = RunTables | pd.DataFrame
"""A run, or a frame of it."""

_KEY: Final = "objectives"
"""Key among a frame's ``attrs``, which pandas keeps through filters, sorts and new columns."""


def run_of(source: Source, run: RunTables | None, function: str) -> RunTables:
    """Return the run for a question: the source, or the run of a frame; else raise an error."""
    if isinstance(source, RunTables):
        return source
    if run is None:
        raise TableError(
            f"{function}: a frame alone does not say what its sweep varied and asked",
            f"give the run as well: an.{function}(frame, run=an.load(...))",
        )
    return run


def tables_of(frame: Source, run: RunTables | None, function: str) -> RunTables:
    """Return the run for a question; for a frame, its run with these trials alone.

    They have every knob, so that nothing is pooled unseen.

    Raises:
        TableError: The frame is of configs, lacks a knob's column, or has a trial twice.
    """
    run = run_of(frame, run, function)
    if isinstance(frame, RunTables):
        return run
    if "trial_ids" in frame.columns:
        raise TableError(
            f"{function}: takes a frame of trials, this one has a row a config",
            "give rows of run.trials",
        )
    knobs = [f"params.{name}" for name in run.sweep.knobs]
    require(frame, ["trial_id", "stage", "state", *knobs], function)
    twice = frame["trial_id"][frame["trial_id"].duplicated()]
    if len(twice):
        raise TableError(f"{function}: holds trial {twice.iloc[0]} twice", "give each row once")
    return replace(run, trials=frame.reset_index(drop=True))


def checked_configs(frame: pd.DataFrame, function: str) -> pd.DataFrame:
    """Return a frame that has no row a trial; raise a :class:`TableError` otherwise."""
    if "trial_id" in frame.columns:
        raise TableError(
            f"{function}: takes a frame of configs, this one has a row a trial (trial_id): "
            "repeats would count as configs",
            f"an.{function}(an.configs(trials, run=run))",
        )
    return frame


def require(frame: pd.DataFrame, columns: Iterable[str], function: str) -> None:
    """Raise a :class:`TableError` that names the first column that a frame lacks."""
    for column in columns:
        if column not in frame.columns:
            known = [str(name).removeprefix("metrics.") for name in frame.columns]
            raise TableError(
                f"{function}: the frame has no column {column!r}{nearest(column, known)}",
                f"columns: {', '.join(known)}",
            )


def column_named(frame: pd.DataFrame, name: str, function: str) -> str:
    """Return the column of a figure: ``metrics.<name>``, or ``<name>``; refuse an unknown one."""
    if f"metrics.{name}" in frame.columns:
        return f"metrics.{name}"
    require(frame, [name], function)
    return name


def labelled(configs: pd.DataFrame, sweep: SweepRecord) -> pd.DataFrame:
    """Return a frame of configs that remembers its objectives."""
    labelled = configs.copy(deep=False)
    labelled.attrs = {**configs.attrs, _KEY: msgspec.to_builtins(sweep.objectives)}
    return labelled


def objectives_of(
    given: str | Objective | Sequence[str | Objective] | None, frame: pd.DataFrame, function: str
) -> tuple[Objective, ...]:
    """Return the requested objectives, by default the objectives of the frame's run.

    A name has the same direction as in the run. Any other rate or accuracy is maximised, a time,
    memory, energy or loss minimised; ``"minimize:name"`` states the direction.

    Raises:
        TableError: None are known; or a name, or its direction, is unknown.
    """
    own = msgspec.convert(frame.attrs.get(_KEY, []), tuple[Objective, ...])
    if given is None and not own:
        raise TableError(
            f"{function}: the frame does not say what its sweep's objectives are",
            f"an.{function}(frame, objectives=[an.maximize('samples_per_s'), ...])",
        )
    if given is None:
        return own
    given = [given] if isinstance(given, (str, Objective)) else given
    asked = tuple(_objective(one, own, frame, function) for one in given)
    if len(asked) not in (1, 2, 3):
        raise TableError(f"{function}: takes one, two or three objectives, not {len(asked)}")
    for objective in asked:
        column = column_named(frame, objective.metric, function)
        if len(frame) and not pd.api.types.is_numeric_dtype(frame[column]):
            raise TableError(f"{function}: {column} is text, so that no value is better")
    return asked


def _objective(
    given: str | Objective, own: Sequence[Objective], frame: pd.DataFrame, function: str
) -> Objective:
    if isinstance(given, Objective):
        return given
    goal, _, name = given.rpartition(":")
    if goal in tuple(Goal):
        return Objective(name, Goal(goal))
    name = given.removeprefix("metrics.")
    if same := [objective for objective in own if objective.metric == name]:
        return same[0]
    if usual := usual_goal(name):
        return Objective(name, usual)
    column_named(frame, name, function)
    raise TableError(
        f"{function}: {name!r} does not say whether larger is better",
        f"write maximize:{name} or minimize:{name}",
    )

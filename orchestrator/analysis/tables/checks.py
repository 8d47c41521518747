"""Checks of the arguments of a function: a frame's columns, its objectives.

Every refusal is one :class:`~orchestrator.analysis.columns.TableError`, which names what is wrong.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pandas as pd

from orchestrator.analysis.columns import TableError
from orchestrator.errors import nearest
from orchestrator.metrics import Goal, Objective, usual_goal
from orchestrator.storage.sweep_record import SweepRecord

_KEY: Final = "objectives"
"""Key among a frame's ``attrs``, which pandas keeps through filters, sorts and new columns."""


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
    """Return a frame of configs that remembers its objectives, varied knobs first."""
    varied = (f"params.{name}" for name in sweep.space if f"params.{name}" in configs)
    labelled = configs[list(dict.fromkeys([*varied, *configs.columns]))]
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

"""The tables of a run: trials and curves, made from the journal, the times of steps, candidates.

A trial has a row once its fate is journalled. One that was asked for and has none yet
(it was running when the driver was interrupted) has no row: ``--resume`` runs it under
the same id and then adds it. So rows are only ever added and none disappears; the only
verdict that can change is ``not_run``, when a resumed sweep has the time after all.
Curves, too, contain only trials with a result.

An unknown figure is an empty cell. Types do not depend on the content:
metrics are ``float64``; knobs, seeds and counts are nullable ``Int64``, ``boolean``,
``float64`` or ``str`` after the knob's type (tuples as text, ``10,25``); tags are ``str``;
``started_at`` is a UTC time.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.kernel.events import Event, Started, Timed
from orchestrator.kernel.journal import read_steps
from orchestrator.measurement.blocks import Block, Dropped
from orchestrator.measurement.throughput import warm_up
from orchestrator.metric_table import MEASURED
from orchestrator.space.knob import Role
from orchestrator.storage.files import RunFile, replace_file
from orchestrator.storage.history import TRIAL_COLUMNS, SweepHistory, cell_text
from orchestrator.storage.sweep_record import KnobRecord
from orchestrator.trial import LOAD

TAG_COLUMNS = (
    "tags.bound", f"tags.{LOAD}", "tags.oversubscribed", "tags.interval", "tags.interval_over",
)  # fmt: skip
CURVE_COLUMNS = ("trial_id", "step", "epoch", "samples", "elapsed_s")

TIME = "datetime64[ms, UTC]"
ROLES = "roles"
"""Key of the roles among the attributes of the candidates, which Parquet keeps."""
_METRIC_COLUMNS = tuple(f"metrics.{metric.name}" for metric in MEASURED)
_DTYPES = {"seed": "Int64", "repeat": "Int64", "cores": "Int64", "started_at": TIME}
_DTYPES |= {"step": "Int64", "epoch": "Int64", "samples": "Int64"}
_DTYPES |= {"wall_s": "float64", "elapsed_s": "float64"}
STEP_DTYPES = {
    "trial_id": "str", "epoch": "Int64", "first_step": "Int64", "num_steps": "Int64",
    "samples": "Int64", "duration_s": "float64", "dropped": "str",
}  # fmt: skip
_KNOB_DTYPES = {bool: "boolean", int: "Int64", float: "float64"}


def trial_dtypes(knobs: Mapping[str, KnobRecord], names: Iterable[str]) -> dict[str, str]:
    """Return the columns of a trials table, in order, with their pandas types.

    Args:
        knobs: The knobs of the trainable by name.
        names: Names of the columns for which there is content, in any order; those of
            metrics and tags that are not always there are taken from it.
    """
    params = [f"params.{name}" for name in knobs]
    extra = sorted(set(names))
    metrics = _with_extra(_METRIC_COLUMNS, extra, "metrics.")
    columns = [*TRIAL_COLUMNS, *params, *metrics, *_with_extra(TAG_COLUMNS, extra, "tags.")]
    known = {f"params.{name}": _knob_dtype(knob) for name, knob in knobs.items()}
    return {name: known.get(name) or _dtype(name) for name in columns}


def typed(rows: pd.DataFrame, dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Return ``rows`` with exactly the columns of ``dtypes``, each of its type.

    Cells may be values of their type, or the text that MLflow keeps of them.
    """
    empty = {kind: pd.Series(None, index=rows.index, dtype=kind) for kind in {*dtypes.values()}}
    columns = {
        name: _CONVERT[kind](rows[name]) if name in rows else empty[kind]
        for name, kind in dtypes.items()
    }
    return pd.DataFrame(columns, index=rows.index)


def trials_of(history: SweepHistory) -> pd.DataFrame:
    """Return the trials table of a history."""
    rows = [trial.row() for trial in history.trials.values() if trial.result is not None]
    return table_of_rows(rows, history.sweep.knobs)


def table_of_rows(
    rows: Sequence[Mapping[str, Any]], knobs: Mapping[str, KnobRecord]
) -> pd.DataFrame:
    """Return the trials table of some rows; see :meth:`TrialHistory.row`."""
    dtypes = trial_dtypes(knobs, {name for row in rows for name in row})
    return typed(pd.DataFrame(rows, dtype=object), dtypes)


def curves_of(history: SweepHistory) -> pd.DataFrame:
    """Return the curves table of a history: the reports of its trials, void ones left out."""
    rows: list[dict[str, Any]] = [
        {
            "trial_id": trial.trial.id,
            **{name: getattr(report, name) for name in CURVE_COLUMNS[1:]},
            **{f"metrics.{name}": value for name, value in report.metrics.items()},
        }
        for trial in history.trials.values()
        if trial.concluded is not None
        for _, report in trial.reports
    ]
    names = sorted({name for row in rows for name in row})
    columns = [*CURVE_COLUMNS, *_with_extra(_METRIC_COLUMNS, names, "metrics.")]
    dtypes = {name: _dtype(name) for name in columns}
    return typed(pd.DataFrame(rows, dtype=object), dtypes)


def steps_table(run_dir: Path, trial_ids: Container[str]) -> pd.DataFrame:
    """Return one row a block of steps of the trials named, in the order of their first report.

    Columns: ``trial_id``, ``epoch``, ``first_step`` (within the epoch), ``num_steps``,
    ``samples``, ``duration_s`` and ``dropped``: empty, or why the block is not part of
    ``samples_per_s`` (see :class:`~orchestrator.measurement.blocks.Dropped`). A later start of a
    trial makes its earlier blocks void.
    """
    path = run_dir / RunFile.STEPS
    events = read_steps(path) if path.exists() else ()
    rows = [
        row
        for trial_id, blocks in _by_trial(events).items()
        if trial_id in trial_ids
        for row in _step_rows(trial_id, blocks)
    ]
    return pd.DataFrame(rows, columns=list(STEP_DTYPES)).astype(STEP_DTYPES)


def _by_trial(events: Iterable[Event]) -> dict[str, list[Block]]:
    blocks: dict[str, list[Block]] = defaultdict(list)
    for event in events:
        if isinstance(event, Started):
            blocks.pop(event.trial_id, None)
        elif isinstance(event, Timed):
            blocks[event.trial_id] += map(Block.from_row, event.blocks)
    return blocks


def _step_rows(trial_id: str, blocks: list[Block]) -> Iterable[tuple[object, ...]]:
    num_cold = warm_up([block for block in blocks if block.end is None])
    num_running = 0
    for block in blocks:
        dropped = block.end
        if dropped is None:
            dropped = Dropped.WARM_UP if num_running < num_cold else None
            num_running += 1
        place = (block.epoch, block.first_step, block.num_steps, block.samples)
        yield trial_id, *place, block.duration_s, None if dropped is None else str(dropped)


# -- the configs of a factored search, trained or not


def candidates_table(
    names: Sequence[str],
    configs: Iterable[Sequence[Any]],
    knobs: Mapping[str, KnobRecord],
    roles: Mapping[str, Role],
) -> pd.DataFrame:
    """Return one row a config, typed as in the trials table.

    Args:
        names: The knobs, in the order of the values of each config.
        configs: Values of the knobs, a config each.
        knobs: The knobs of the trainable by name.
        roles: Role of each knob: as declared, later as the search has found it.
    """
    rows = pd.DataFrame(list(configs), columns=[f"params.{name}" for name in names], dtype=object)
    tuples = [name for name in rows.columns if rows[name].map(type).isin([tuple, list]).any()]
    rows = rows.assign(**{name: rows[name].map(cell_text) for name in tuples})
    dtypes = trial_dtypes(knobs, [])
    table = typed(rows, {name: dtypes[name] for name in rows.columns})
    return with_roles(table, roles)


def with_roles(table: pd.DataFrame, roles: Mapping[str, Role]) -> pd.DataFrame:
    """Return the same configs with other roles of the knobs."""
    table = table.copy(deep=False)
    table.attrs = {**table.attrs, ROLES: {name: str(role) for name, role in roles.items()}}
    return table


def write_candidates(run_dir: Path, table: pd.DataFrame) -> None:
    """Write ``candidates.parquet``.

    Raises:
        OSError: It cannot be written.
    """
    replace_file(run_dir / RunFile.CANDIDATES, lambda path: table.to_parquet(path, index=False))


def roles_of(candidates: pd.DataFrame) -> dict[str, Role]:
    """Return the roles that the table was written with; {} for one without."""
    return {name: Role(role) for name, role in candidates.attrs.get(ROLES, {}).items()}


# -- types of columns


def _with_extra(fixed: tuple[str, ...], names: Iterable[str], prefix: str) -> list[str]:
    return [*fixed, *(n for n in names if n.startswith(prefix) and n not in fixed)]


def _dtype(column: str) -> str:
    return "float64" if column.startswith("metrics.") else _DTYPES.get(column, "str")


def _knob_dtype(knob: KnobRecord) -> str:
    kinds = {type(option) for option in knob.options or (knob.default,)}
    return _KNOB_DTYPES.get(kinds.pop(), "str") if len(kinds) == 1 else "str"


_BOOLEANS = {True: True, False: False, "True": True, "False": False}


def _whole(cells: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the cells as ints; what is none, in a damaged journal, as not known."""
    if cells.dtype.kind == "i":
        return cells.astype("Int64")
    return cells.where(cells.isna() | (cells % 1 == 0)).astype("Int64")


def _figures(cells: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return the cells as numbers, infinite ones as not known: no page or store takes them."""
    try:
        numbers = cells.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):  # a text that is none
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    return pd.Series(np.where(np.isfinite(numbers), numbers, np.nan), index=cells.index)


_CONVERT: "dict[str, Callable[[pd.Series[Any]], pd.Series[Any]]]" = {
    "str": lambda cells: cells.map(str, na_action="ignore").astype("str"),
    "boolean": lambda cells: cells.map(_BOOLEANS).astype("boolean"),
    "Int64": lambda cells: _whole(pd.to_numeric(cells, errors="coerce")),
    "float64": _figures,
    TIME: lambda cells: pd.to_datetime(cells, utc=True, format="ISO8601").dt.as_unit("ms"),
}

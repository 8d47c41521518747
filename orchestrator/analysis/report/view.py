"""A run as the report and the picture show it: its tables, joined and marked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import configs_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import against_measured
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.recommendation.front import MEASURED_IN, with_confirmed
from orchestrator.analysis.rule import Rule, column_of
from orchestrator.analysis.statistics.against_best import Verdict
from orchestrator.analysis.statistics.pooling import Pool
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import format_config, is_share
from orchestrator.metric_table import METRICS, unit_of
from orchestrator.metrics import Objective, minimize
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage, TrialState

MAX_DRAWN: Final = 5000
"""Of more configs not all are drawn; the tables of the run have them."""

_CELLS: Final = 64
"""Cells of the grid along each axis."""

_CONTENDERS: Final = (Verdict.BEST, Verdict.TIED, Verdict.UNRESOLVED)


def thinned(configs: pd.DataFrame, axes: Sequence[str], *, seed: int, most: int) -> pd.DataFrame:
    """Return the configs in their order, or some of them where they are more than ``most``.

    The front, the baseline and the recommended config always stay. Contenders (not shown to be
    slower than the best) fill half of what is left, the others the rest. Of each kind one config
    a cell of a grid over ``axes`` is taken in turn, so that no crowd hides a sparse region.

    Args:
        configs: With ``on_front``, ``is_baseline``, ``is_recommended`` and ``verdict``.
        axes: Columns of the figures that they are drawn by.
        seed: Of the draw within a cell.
        most: Number of configs that stay, unless more are always kept.
    """
    if len(configs) <= most:
        return configs
    always = (configs["on_front"] | configs["is_baseline"] | configs["is_recommended"]).to_numpy()
    is_contender = configs["verdict"].isin(_CONTENDERS).to_numpy() & ~always
    turn = _turns(_cells(configs, axes), seed)
    kept = always.copy()
    left = max(most - int(kept.sum()), 0)
    kept[_first_turns(turn, is_contender, left // 2)] = True
    left = max(most - int(kept.sum()), 0)
    kept[_first_turns(turn, ~is_contender & ~always, left)] = True
    return configs[kept]


def _first_turns(turn: npt.NDArray[np.intp], among: npt.NDArray[np.bool_], number: int) -> Any:  # noqa: ANN401
    """Return the places of the ``number`` rows whose turn comes first."""
    places = np.flatnonzero(among)
    return places[np.argsort(turn[places], kind="stable")[:number]]


def _cells(configs: pd.DataFrame, axes: Sequence[str]) -> npt.NDArray[np.intp]:
    """Return the cell of each config; a missing figure has cells of its own."""
    cells = np.zeros(len(configs), dtype=np.intp)
    for axis in axes:
        values = configs[axis].to_numpy(dtype=np.float64)
        low, high = np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf)
        width = (high - low) / _CELLS if high > low else 1.0
        known = np.isfinite(values)
        place = np.full(len(values), _CELLS + 1, dtype=np.intp)
        place[known] = ((values[known] - low) / width).astype(np.intp)
        cells = cells * (_CELLS + 2) + place
    return cells


def _turns(cells: npt.NDArray[np.intp], seed: int) -> npt.NDArray[np.intp]:
    """Return the number of rows of the same cell that come before each row, in a drawn order."""
    drawn = np.random.default_rng(seed).permutation(len(cells))
    before = pd.Series(cells[drawn]).groupby(cells[drawn]).cumcount().to_numpy()
    turns = np.empty(len(cells), dtype=np.intp)
    turns[drawn] = before
    return turns


_BESIDE: Final = ("peak_rss_gib", "epoch_s", "step_ms")
"""Figures that a single objective is drawn against, where nothing was learned."""


@dataclass(frozen=True, kw_only=True)
class View:
    """A run, ready to be drawn.

    Attributes:
        sweep: The sweep that was run.
        trials: The trials table, with the ``group`` of comparable rows and a column for every
            objective.
        curves: The curves table.
        configs: Configs of stage ``train`` of the main group, with ``on_front``, their
            ``verdict`` against the best, ``is_baseline``, ``is_recommended`` and a ``label``. Of
            very many those of the front, the marked ones and a sample of the others: see
            :func:`~orchestrator.analysis.report.view.thinned`.
        all_configs: All of them, without a ``label``.
        tables: The tables that all of this is of.
        others: The front and the baseline of the groups that are not ranked with the main one, by
            their name.
        confirmed: Configs of stage ``confirm`` of the main group, without front or verdict.
        findings: What it shows.
        run_dir: The run's directory; None where it was read from MLflow.
        pool: The spread between fresh runs of one config, None where nothing was repeated.
        num_configs: Configs of the main group.
        num_candidates: Configs of a factored search, composed or not; 0 for another search.
        num_stopped: Those of them whose curve was stopped.
        measured: Composed figures beside those of confirm runs, one row a confirmed config; see
            :func:`~orchestrator.analysis.composition.against_measured.against_measured`.
    """

    sweep: SweepRecord
    trials: pd.DataFrame
    curves: pd.DataFrame
    configs: pd.DataFrame
    others: Mapping[str, pd.DataFrame]
    confirmed: pd.DataFrame
    findings: Findings
    pool: Pool | None
    num_configs: int
    all_configs: pd.DataFrame
    tables: RunTables
    run_dir: Path | None = None
    num_candidates: int = 0
    num_stopped: int = 0
    measured: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def rule(self) -> Rule:
        """The rule that settings are recommended by."""
        return self.findings.rule

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """The sweep's objectives, the one that is to be fastest first."""
        rule = self.rule
        return (rule.speed, *(o for o in rule.objectives if o is not rule.speed))

    @cached_property
    def shown(self) -> pd.DataFrame:
        """The drawn configs, each with one figure: that of its confirm runs where it has any."""
        return with_confirmed(self.configs, self.confirmed, self.rule.speed_column)

    @cached_property
    def by_selecting_runs(self) -> pd.DataFrame:
        """The drawn configs by the runs that selected: figures that may stand beside each other."""
        return self.configs.assign(**{MEASURED_IN: str(Stage.TRAIN)})

    @cached_property
    def by_confirm_runs(self) -> pd.DataFrame:
        """Those of them that were confirmed, by their confirm runs."""
        return self.shown[self.shown[MEASURED_IN] == Stage.CONFIRM]

    @property
    def beside_speed(self) -> tuple[Objective, ...]:
        """The objectives that the first one is drawn against, one picture each.

        The other objectives; of a single one a figure that was measured beside it.
        """
        if len(self.objectives) > 1:
            return self.objectives[1:]
        beside = (self.rule.accuracy, *map(minimize, _BESIDE))
        return tuple(o for o in beside if self._is_known(o) and o.metric != self.rule.speed.metric)[
            :1
        ]

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        """The files of what trials have printed, by trial id, as a page beside them names them."""
        folder = None if self.run_dir is None else self.run_dir / RunFile.OUTPUT
        files = folder.glob("*.txt") if folder is not None else ()
        return {file.stem: f"{RunFile.OUTPUT}/{file.name}" for file in files}

    def _is_known(self, objective: Objective) -> bool:
        column = column_of(objective)
        return column in self.configs.columns and bool(self.configs[column].notna().any())


def view_of(tables: RunTables, findings: Findings, run_dir: Path | None = None) -> View:
    """Join a run's tables and mark the configs that the figures single out."""
    sweep, main, confirmed = tables.sweep, tables.main_group, tables.confirmed
    ranked = _marked(tables.ranked, sweep, findings)
    is_main = ranked[GROUP] == main
    configs, others = ranked[is_main], ranked[~is_main]
    axes = [column for column in map(column_of, tables.rule.objectives) if column in configs]
    singled = others[others["on_front"] | others["is_baseline"]]
    return View(
        sweep=sweep,
        trials=tables.grouped,
        curves=tables.whole_curves,
        configs=_labelled(thinned(configs, axes[:2], seed=sweep.seed, most=MAX_DRAWN), sweep),
        all_configs=configs,
        tables=tables,
        others={str(name): rows for name, rows in singled.groupby(GROUP, sort=False)},
        confirmed=_labelled(_marked(confirmed[confirmed[GROUP] == main], sweep, findings), sweep),
        findings=findings,
        run_dir=run_dir,
        pool=tables.pool,
        num_configs=len(configs),
        **(_composed(tables) if tables.is_composed else {}),
    )


def _composed(tables: RunTables) -> dict[str, Any]:
    """Return what the view has of a factored search alone."""
    main, rule = tables.main_group, tables.rule
    stopped = tables.composed(TrialState.STOPPED)
    confirmed = tables.confirmed[tables.confirmed[GROUP] == main]
    figures = (rule.speed_column, rule.accuracy_column)
    return {
        "num_candidates": len(tables.candidates),
        "num_stopped": int((stopped[GROUP] == main).sum()),
        "measured": against_measured(tables.configs, confirmed, tables.grouped, figures)
        if len(confirmed) and len(tables.configs)
        else pd.DataFrame(),
    }


def _marked(configs: pd.DataFrame, sweep: SweepRecord, findings: Findings) -> pd.DataFrame:
    recommended = findings.config
    nothing = pd.Series(False, index=configs.index)
    return configs.assign(
        is_baseline=rows_of(configs, sweep.baseline),
        is_recommended=nothing if recommended is None else rows_of(configs, recommended),
    )


def _labelled(configs: pd.DataFrame, sweep: SweepRecord) -> pd.DataFrame:
    labels = [format_config(config, sweep) for config in configs_of(configs, sweep)]
    return configs.assign(label=pd.Series(labels, index=configs.index, dtype="object"))


_TITLES: Final = {
    "val_balanced_acc": "balanced validation accuracy",
    "val_auc": "validation AUC",
    "val_loss": "validation loss",
}
"""Figures that trainables report by these names."""


def axis_title(metric: str) -> str:
    """Return a metric's name in words with its unit."""
    if metric in METRICS and METRICS[metric].title:
        return METRICS[metric].title
    if metric in _TITLES:
        return _TITLES[metric]
    unit = unit_of(metric)
    return f"{metric} ({unit})" if unit else metric


def tick_format(metric: str) -> str:
    """Return d3's number format for a metric's axis."""
    return ".2~%" if is_share(metric) else ""

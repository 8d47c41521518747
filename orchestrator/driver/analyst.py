"""The analysis on the trials so far: as the judge of searches, and for the live console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.derived import DerivedFigures
from orchestrator.driver.trials import TrialFactory
from orchestrator.kernel.search import Search
from orchestrator.search.stages.judge import Config, Judge, Results
from orchestrator.space.knob import Role
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.problem import search_problem
from orchestrator.tracking.console import words

if TYPE_CHECKING:
    import pandas as pd

    from orchestrator.analysis.recommendation.selection import Selection
    from orchestrator.analysis.tables.run_tables import RunTables


@dataclass(frozen=True, kw_only=True, eq=False)
class _Searched:
    """The runs that select, and what follows from them, which is computed once."""

    results: Results
    roles: Mapping[str, Role]
    tables: RunTables

    @cached_property
    def selection(self) -> Selection:
        """The choice of these runs."""
        from orchestrator.analysis.recommendation.selection import select

        return select(self.tables)


class Analyst(Judge):
    """Judge that decides as the report of the run will: by the same functions, from the same table.

    The analysis is imported on first use, since it takes a second. Confirm runs select nothing: a
    question that follows one is answered from the selection before it, and from the confirm runs.

    Args:
        record: The sweep.
        candidates: The configs that the search lists, or None.
        derived: Computes figures to a target from the reports. A better result may have moved the
            target since a trial's figures were reported.
    """

    def __init__(
        self,
        record: SweepRecord,
        candidates: pd.DataFrame | None = None,
        derived: DerivedFigures | None = None,
    ) -> None:
        self._record = record
        self._derived = derived or DerivedFigures()
        self._candidates = candidates
        self._search: Search | None = None
        self._last: _Searched | None = None

    def follow(self, search: Search) -> None:
        """Compose by the knobs' roles as ``search`` determines them."""
        self._search = search

    @property
    def candidates(self) -> pd.DataFrame | None:
        """The configs of a factored search with the current roles; None for another search."""
        if self._candidates is None:
            return None
        if self._search is None:
            return self._candidates
        from orchestrator.storage.tables import with_roles

        return with_roles(self._candidates, self._search.roles)

    def write_candidates(self, run_dir: Path) -> None:
        """Write ``candidates.parquet`` with the current roles, if the search is factored."""
        if (table := self.candidates) is not None:
            from orchestrator.storage.tables import write_candidates

            write_candidates(run_dir, table)

    def finalists(self, results: Results, *, most: int) -> Sequence[Config]:
        """Return the selected config, then its contenders."""
        from orchestrator.analysis.recommendation.choice import finalists

        return _as_asked(finalists(self._searched(results).selection, most=most), results)

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Config]:
        """Return the best config and the nearest ones not distinguishable from it."""
        from orchestrator.analysis.recommendation.selection import to_repeat

        return _as_asked(to_repeat(self._searched(results).tables, max_runs=max_runs), results)

    def is_decided(self, results: Results) -> bool:
        """Return True if the confirm runs decide about the config that the search selected."""
        from orchestrator.analysis.recommendation.choice import is_decided

        config = self._searched(results).selection.config
        finals = [each for each in results if each[0].stage.is_final]
        return config is None or is_decided(self._tables(finals), config)

    def recommended(self, results: Results) -> Config | None:
        """Return the config that the report of the run will recommend."""
        from orchestrator.analysis.recommendation.choice import choose

        choice = choose(self._tables(results), self._searched(results).selection)
        return None if choice is None else _as_asked([choice.config], results)[0]

    def interference(self, results: Results) -> str:
        """Return the effect of co-located trials on each other; empty if none is shown."""
        effect = self._searched(results).tables.interference
        return effect.text if effect is not None and effect.is_shown else ""

    def _searched(self, results: Results) -> _Searched:
        """Return the runs that select: those of the last question where none of them is new.

        A run is new, too, if the target has moved its derived figures, and all are if a knob has
        another role.
        """
        roles = self._search.roles if self._search is not None else {}
        rows = [(t, self._derived.completed(t, r)) for t, r in results if not t.stage.is_final]
        if self._last is None or (self._last.results, self._last.roles) != (rows, roles):
            self._last = _Searched(results=rows, roles=roles, tables=self._tables(rows))
        return self._last

    def _tables(self, results: Results) -> RunTables:
        """Return the tables of some results."""
        import pandas as pd

        from orchestrator.analysis.tables.run_tables import RunTables
        from orchestrator.storage.tables import table_of_rows

        completed = {trial.id: (trial, self._derived.completed(trial, r)) for trial, r in results}
        histories = (
            TrialHistory(trial=trial, data=self._record.data, result=result)
            for trial, result in completed.values()
        )
        # Of tables this small Arrow's texts take a tenth of the time more than Python's.
        with pd.option_context("mode.string_storage", "python"):
            trials = table_of_rows([each.row() for each in histories], self._record.knobs)
        tables = RunTables(trials=trials, sweep=self._record)
        if (candidates := self.candidates) is None:
            return tables
        # How far each trial has come, as the one report that times are composed from.
        rows = [(trial, *so_far) for trial, so_far in self._derived.progress.items()]
        curves = pd.DataFrame(rows, columns=["trial_id", "epoch", "samples"])
        return replace(tables, candidates=candidates, curves=curves)


def _as_asked(configs: Sequence[Config], results: Results) -> list[Config]:
    """Return the configs as the search asked for them, whatever a table made of their values.

    A listed config that was not asked for stays as in the table.
    """
    asked = [(trial.config, {**trial.config, **result.found}) for trial, result in results]
    return [next((one for one, row in asked if row == dict(c)), c) for c in configs]


def candidates_of(factory: TrialFactory, record: SweepRecord) -> pd.DataFrame | None:
    """Return the configs that the search lists as a table; None if it lists none.

    pandas is imported only for a table, since it takes a second.
    """
    problem = search_problem(factory.sweep, factory.machine)
    listed = factory.sweep.search.listed(problem)
    if listed is None:
        return None
    from orchestrator.storage.tables import candidates_table

    return candidates_table(tuple(problem.base), listed.keys, record.knobs, problem.roles)


# -- for the live console


def best_so_far(history: SweepHistory, candidates: pd.DataFrame | None = None) -> str:
    """Return a line on the config that the report would recommend now; "" while it has none.

    The analysis is imported on first use, since it takes a second.

    Args:
        history: The sweep so far.
        candidates: The configs that the search lists, or None.
    """
    from orchestrator.analysis.columns import numbers_of, rows_of
    from orchestrator.analysis.recommendation.choice import choose
    from orchestrator.analysis.tables.run_tables import RunTables
    from orchestrator.storage.tables import trials_of

    sweep = history.sweep
    tables = RunTables(trials=trials_of(history), sweep=sweep)
    if candidates is not None:
        tables = replace(tables, candidates=candidates)
    if (choice := choose(tables)) is None:
        return ""
    cells = ((str(name).removeprefix("metrics."), cell) for name, cell in choice.row.items())
    known = {name: cell for name, cell in cells if cell == cell}
    texts = [*words.differing(choice.config, sweep), *words.figures(known, sweep)]
    own = tables.configs[rows_of(tables.configs, sweep.baseline)]
    baseline = numbers_of(own, f"metrics.{words.SPEED}").dropna()
    if len(baseline) and words.SPEED in known:
        times = known[words.SPEED] / baseline.iloc[0]
        texts.append(f"{times:.2f}x the baseline (unconfirmed)")
    return f"best so far: {'  '.join(texts)}"

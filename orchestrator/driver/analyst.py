"""The judge that searches ask: the analysis, on the trials so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.search.stages.judge import Config, Interference, Results
from orchestrator.storage.journal import Event

if TYPE_CHECKING:
    import pandas as pd


class Analyst:
    """Decides as the report of the run will: by the same functions, from the same table.

    The analysis is imported when it is first asked, since it takes a second.

    Args:
        record: What ``sweep.json`` holds.
    """

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._record = record

    def finalists(self, results: Results) -> Sequence[Config]:
        """The selected config, then its rivals, as many as the sweep asks for."""
        from analysis.recommendation.finalists import finalists
        from analysis.recommendation.selection import select

        selection = select(self._table(results), self._record)
        chosen = finalists(selection, most=int(self._record["finalists"]))
        return _as_asked(chosen, results)

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Config]:
        """The best config and the nearest that it is not told from."""
        from analysis.recommendation.repeats import to_repeat

        named = to_repeat(self._table(results), self._record, max_runs=max_runs)
        return _as_asked(named, results)

    def is_decided(self, results: Results) -> bool:
        """Whether the confirm runs decide about what the searching runs selected."""
        from analysis.recommendation.finalists import is_decided
        from analysis.recommendation.selection import select

        trials = self._table(results)
        selection = select(trials, self._record)
        if selection.config is None:
            return True
        return is_decided(trials, selection.config, self._record, selection.rule)

    def recommended(self, results: Results) -> Config | None:
        """What the report of the run will recommend."""
        from analysis.recommendation.recommend import recommend

        config = recommend(self._table(results), self._record).config
        return None if config is None else _as_asked([config], results)[0]

    def interference(self, results: Results) -> Interference | None:
        """What company does to the speed of the trials."""
        from analysis.statistics.interference import company_effect

        return company_effect(self._table(results), self._record)

    def _table(self, results: Results) -> pd.DataFrame:
        from orchestrator.storage.tables import trials_table

        events: list[Event] = [{"at": 0.0, "event": "sweep", "sweep": self._record}]
        for trial, result in results:
            events.append({"at": 0.0, "event": "asked", "trial": trial.to_json()})
            finished = {"trial_id": trial.id, "result": result.to_json()}
            events.append({"at": 0.0, "event": "finished", **finished})
        return trials_table(events)


def _as_asked(configs: Sequence[Config], results: Results) -> list[Config]:
    """The configs as the search asked for them, whatever a table made of their values."""
    asked = [trial.config for trial, _ in results]
    return [next(one for one in asked if dict(one) == dict(config)) for config in configs]

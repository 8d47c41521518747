"""The configs of a factored search, for the analysis to compose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.driver.trials import TrialFactory
from orchestrator.search.factored import Factored
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.problem import search_problem

if TYPE_CHECKING:
    import pandas as pd


def candidates_of(factory: TrialFactory, record: SweepRecord) -> pd.DataFrame | None:
    """Return the configs of a factored search as a table; None for another search.

    pandas is imported for a factored search alone, since it takes a second.
    """
    sweep = factory.sweep
    if not isinstance(sweep.search, Factored):
        return None
    from orchestrator.storage.candidates import candidates_table

    problem = search_problem(sweep, factory.machine)
    keys = sweep.search.factors(problem).candidates.keys
    return candidates_table(tuple(problem.base), keys, record.knobs, problem.roles)

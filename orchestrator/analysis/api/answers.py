"""The recommendation of a run."""

from __future__ import annotations

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.recommendation.recommend import Recommendation
from orchestrator.analysis.recommendation.recommend import recommend as recommend_of
from orchestrator.analysis.tables.run_tables import RunTables


def recommend(run: RunTables) -> Recommendation:
    """Recommend a config by the rule of the run's sweep.

    Args:
        run: A run.

    Returns:
        ``config`` (None where nothing can be recommended, and ``why``), ``speedup`` over the
        baseline with its 95 % interval, ``figures``, ``notes`` and ``how_sure``; see
        :class:`~orchestrator.analysis.recommendation.recommend.Recommendation`.

    Raises:
        TableError: It is no run: a recommendation rests on all of its trials.
        SweepError: The sweep's objectives state no rule.
    """
    if not isinstance(run, RunTables):
        raise TableError(
            f"recommend: takes a whole run, not a {type(run).__name__}",
            "an.recommend(an.load(RUN_DIR)): it rests on all trials of the run",
        )
    return recommend_of(run)

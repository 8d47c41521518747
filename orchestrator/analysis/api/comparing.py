"""Two runs, compared."""

from __future__ import annotations

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.comparison.changes import TOLERANCE
from orchestrator.analysis.comparison.compare import Comparison
from orchestrator.analysis.comparison.compare import compare as compare_runs
from orchestrator.analysis.tables.run_tables import RunTables


def compare(
    first: RunTables,
    second: RunTables,
    *,
    tolerance: float = TOLERANCE,
    across: tuple[str, ...] = (),
) -> Comparison:
    """Compare two runs of a sweep config by config, and say whether anything got worse.

    Args:
        first: The run that changes are counted from.
        second: The other run.
        tolerance: Share of the speed that a config may lose before that is a regression. The
            tolerance of the accuracy is the sweep's own.
        across: Keys of the environment that may differ, since they are what is compared.

    Returns:
        ``verdict`` (``regression``, ``improvement``, ``no change beyond the tolerance`` or ``not
        decided``) and its ``sentence``; ``changes``, a row a figure, stage and config, with its
        95 % interval; ``table``, a row a config and stage with the figures of both runs. See
        :class:`~orchestrator.analysis.comparison.compare.Comparison`.

    Raises:
        TableError: One of the two is no run.
        SweepError: The machines, versions or data differ, no config is in both, or the tolerance
            is no share.
    """
    for run in (first, second):
        if not isinstance(run, RunTables):
            raise TableError(
                f"compare: takes two runs, not a {type(run).__name__}",
                "an.compare(an.load(RUN_DIR), an.load(RUN_DIR))",
            )
    return compare_runs(first, second, tolerance=tolerance, across=across)

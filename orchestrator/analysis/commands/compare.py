"""``compare``: two runs, or several pairs of runs, with a verdict for CI."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from orchestrator.analysis.columns import config_of
from orchestrator.analysis.commands.documents import rows_of, write_document
from orchestrator.analysis.commands.sources import loaded
from orchestrator.analysis.comparison.changes import TOGETHER, Verdict
from orchestrator.analysis.comparison.compare import Comparison
from orchestrator.analysis.comparison.sessions import compare_sessions
from orchestrator.analysis.report.console import show_comparison
from orchestrator.analysis.statistics.intervals import is_narrow

EXIT_REGRESSION: Final = 1


def run(options: argparse.Namespace) -> int:
    """Print the comparison; return 1 where a regression is shown, else 0.

    Raises:
        SweepError: There is no such run, or the runs cannot be compared.
    """
    pairs = [
        (loaded(first, options.tracking_uri), loaded(second, options.tracking_uri))
        for first, second in [(options.run, options.second), *options.again]
    ]
    comparison = compare_sessions(pairs, across=options.across, tolerance=options.tolerance)
    if options.json:
        write_document("compare", document(comparison))
    else:
        show_comparison(comparison)
    return EXIT_REGRESSION if comparison.verdict is Verdict.REGRESSION else 0


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the content of the JSON document: no ratio without an interval that tells it."""
    table = comparison.table
    for name, low, high in (("ratio", "low", "high"), ("own", "own_low", "own_high")):
        ends = zip(table[low], table[high], strict=True)
        is_known = np.array([is_narrow(*both) for both in ends], dtype=np.bool_)
        table = table.assign(**{name: table[name].where(is_known)})
    return {
        "verdict": comparison.verdict,
        "sentence": comparison.sentence,
        "tolerance": comparison.tolerance,
        "metric": comparison.metric,
        "accuracy": comparison.accuracy,
        "num_pairs": comparison.num_pairs,
        "changes": list(_changes(comparison)),
        "configs": rows_of(table, comparison.sweep),
        "not_compared": [
            {"key": d.key, "first": d.first, "second": d.second, "times": times}
            for d, times in comparison.mismatches.items()
        ],
        "notes": comparison.notes,
    }


def _changes(comparison: Comparison) -> Iterator[dict[str, Any]]:
    rows = comparison.table.to_dict("records")
    for change in comparison.changes.to_dict("records"):
        row, is_ratio = change.pop("row"), change["is_ratio"]
        config = None if row == TOGETHER else config_of(rows[row], comparison.sweep)
        if is_ratio and not is_narrow(change["low"], change["high"]):
            change["change"] = None
        yield {"config": config, **{str(name): cell for name, cell in change.items()}}

"""``show``: a run's answer, its last lines, its front and its files again."""

from __future__ import annotations

import argparse
from pathlib import Path

from orchestrator.analysis.commands.documents import rows_of, write_document
from orchestrator.analysis.commands.sources import loaded
from orchestrator.analysis.findings.content import recommended_json
from orchestrator.analysis.findings.findings import Findings, findings
from orchestrator.analysis.recommendation.front import front_table
from orchestrator.analysis.report.console import show_run
from orchestrator.analysis.report.sections.trials import counts_of_states
from orchestrator.analysis.report.write import write_all
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.errors import refusing_os_errors


def run(options: argparse.Namespace) -> int:
    """Print the run and write its files; return 0.

    Raises:
        SweepError: There is no such run, it states no rule, or the files cannot be written.
    """
    tables = loaded(options.run, options.tracking_uri)
    folder: Path | None = options.out
    if folder is None and options.tracking_uri is None:
        folder = Path(options.run)
    found = findings(tables) if folder is None else _written(tables, folder)
    if not options.json:
        show_run(tables, found, folder)
        return 0
    write_document(
        "show",
        {
            "sweep": tables.sweep.name,
            "answer": recommended_json(found, tables.key),
            "trials": dict(counts_of_states(tables.trials)),
            "front": rows_of(front_table(tables), tables.sweep),
            "files": folder and folder.absolute(),
        },
    )
    return 0


def _written(tables: RunTables, folder: Path) -> Findings:
    """Write the files into a folder, which is made where it is not there."""
    with refusing_os_errors("give another folder by --out DIR"):
        folder.mkdir(parents=True, exist_ok=True)
        return write_all(tables, folder)

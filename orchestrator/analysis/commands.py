"""A function a command: ``show``, ``front``, ``export``, ``open``, ``compare``."""

import argparse
import json
import sys
import webbrowser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.api.runs import configs, export, pareto_front
from orchestrator.analysis.columns import config_of, plain
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.comparison.changes import TOGETHER, Verdict
from orchestrator.analysis.comparison.compare import Comparison
from orchestrator.analysis.comparison.compare import compare as compare_runs
from orchestrator.analysis.findings.findings import recommended_json
from orchestrator.analysis.recommendation.front import front_table
from orchestrator.analysis.report.console import show_comparison, show_front, show_run
from orchestrator.analysis.report.sections.trials import counts_of_states
from orchestrator.analysis.report.write import write_all
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.tables.checks import objectives_of
from orchestrator.analysis.tables.load import load_run
from orchestrator.arguments import typed
from orchestrator.errors import RunDirectoryError, SweepError, refusing_os_errors
from orchestrator.locations import short
from orchestrator.storage.files import RunFile, no_run
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.system.streams import require_written

EXIT_REGRESSION: Final = 1
SCHEMA_VERSION: Final = 1
"""Rises where a key goes or changes its meaning; new keys may come without."""


def show(options: argparse.Namespace) -> int:
    """Print a run's answer, last lines and front, and write its files again; return 0.

    Raises:
        SweepError: There is no such run, or the files cannot be written.
    """
    tables = load_run(options.run)
    folder = options.out or Path(options.run)
    with refusing_os_errors("give another folder by --out DIR"):
        folder.mkdir(parents=True, exist_ok=True)
        found = write_all(tables, folder)
    if not options.json:
        show_run(tables, found, folder)
        return 0
    content = {
        "sweep": tables.sweep.name,
        "answer": recommended_json(found),
        "trials": counts_of_states(tables.trials),
        "front": rows_of(front_table(tables), tables.sweep),
        "files": folder.absolute(),
    }
    return write_document("show", content)


def front(options: argparse.Namespace) -> int:
    """Print the configs that no other one beats; return 0, also where there are none.

    Raises:
        SweepError: There is no such run, or an objective is unknown.
    """
    tables = load_run(options.run)
    table = configs(tables)
    table = table[table[GROUP] == tables.main_group]
    names = options.objectives and [name.strip() for name in options.objectives.split(",")]
    objectives = objectives_of(names, table, "--objectives")
    found = pareto_front(table, objectives) if len(table) else table
    if not options.json:
        show_front(found, objectives, tables.sweep)
        return 0
    directions = [{"metric": o.metric, "goal": o.goal} for o in objectives]
    rows = rows_of(found.drop(columns=["trial_ids", "timed_ids"]), tables.sweep)
    content = {"sweep": tables.sweep.name, "objectives": directions, "front": rows}
    return write_document("front", content)


def export_tables(options: argparse.Namespace) -> int:
    """Write a run's tables as files for other programs, and print their paths; return 0.

    Raises:
        SweepError: There is no such run or format, or the files would replace those of a run.
    """
    folder: Path | None = options.out
    if folder is not None and (folder / RunFile.SWEEP).exists():
        raise SweepError(
            f"{folder}: is a run's own folder; the export would replace its tables",
            "give another folder",
        )
    tables = load_run(options.run)
    files = export(tables, folder or Path(options.run) / "export", options.format)
    if options.json:
        return write_document("export", {"files": [path.absolute() for path in files]})
    sys.stdout.writelines(f"{short(path)}\n" for path in files)
    return 0


def open_report(options: argparse.Namespace) -> int:
    """Open a run's report, or print its path where there is no browser; return 0.

    Raises:
        RunDirectoryError: There is no such run, or it has no report.
    """
    folder = Path(options.run)
    report = (folder / RunFile.REPORT).absolute()
    if not (folder / RunFile.SWEEP).exists():
        raise no_run(folder)
    if not report.is_file():
        raise RunDirectoryError(
            f"{folder}: has no {RunFile.REPORT}",
            f"this writes it: {typed('orchestrator', ['show', folder])}",
        )
    is_open = webbrowser.open(report.as_uri())
    if options.json:
        return write_document("open", {"report": report, "opened": is_open})
    sys.stdout.write(f"{short(report)}\n")
    return 0


def compare(options: argparse.Namespace) -> int:
    """Print the comparison of two runs; return 1 for a regression, else 0.

    Raises:
        SweepError: There is no such run, or the runs cannot be compared.
    """
    first, second = load_run(options.run), load_run(options.second)
    comparison = compare_runs(first, second, across=options.across, tolerance=options.tolerance)
    if options.json:
        write_document("compare", _compared(comparison))
    else:
        show_comparison(comparison)
    return EXIT_REGRESSION if comparison.verdict is Verdict.REGRESSION else 0


def _compared(comparison: Comparison) -> dict[str, Any]:
    """Return the content of the JSON document: ratios only with an interval that gives a figure."""
    table, sweep = comparison.table, comparison.sweep
    for name, low, high in (("ratio", "low", "high"), ("own", "own_low", "own_high")):
        is_known = [is_narrow(*ends) for ends in zip(table[low], table[high], strict=True)]
        table = table.assign(**{name: table[name].where(np.array(is_known, dtype=np.bool_))})
    rows, changes = table.to_dict("records"), comparison.changes.to_dict("records")
    for change in changes:
        row = change.pop("row")
        change["config"] = None if row == TOGETHER else config_of(rows[row], sweep)
        if change["is_ratio"] and not is_narrow(change["low"], change["high"]):
            change["change"] = None
    return {
        "verdict": comparison.verdict,
        "sentence": comparison.sentence,
        "tolerance": comparison.tolerance,
        "metric": comparison.metric,
        "accuracy": comparison.accuracy,
        "changes": changes,
        "configs": rows_of(table, sweep),
        "not_compared": [
            {"key": d.key, "first": d.first, "second": d.second, "times": times}
            for d, times in comparison.mismatches.items()
        ],
        "notes": comparison.notes,
    }


def write_document(command: str, content: Mapping[str, Any]) -> int:
    """Write ``schema_version``, ``command`` and the content; what is not known is null; return 0.

    Raises:
        OSError: It cannot be written.
    """
    document = {"schema_version": SCHEMA_VERSION, "command": command, **content}
    sys.stdout.write(json.dumps(plain(document), indent=2, allow_nan=False) + "\n")
    require_written(sys.stdout)
    return 0


def rows_of(table: pd.DataFrame, sweep: SweepRecord) -> list[dict[str, Any]]:
    """Return a table's rows: the knobs as ``config``, other columns by their short names."""
    return [
        {
            "config": config_of(row, sweep),
            **{
                str(name).removeprefix("metrics."): cell
                for name, cell in row.items()
                if not str(name).startswith("params.")
            },
        }
        for row in table.to_dict("records")
    ]


ACTIONS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "show": show,
    "front": front,
    "export": export_tables,
    "open": open_report,
    "compare": compare,
}

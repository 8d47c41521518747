"""A made run's journal, so that MLflow's mirror has something to mirror."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from orchestrator.analysis.report.write import write_all
from orchestrator.analysis.tables import load
from orchestrator.kernel.journal import Journal
from orchestrator.storage.files import RunFile
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.analysis.made_runs import BASELINE, MadeRun, Row
from tests.orchestrator.helpers.journalled import append


def write_run(run: MadeRun, run_dir: Path) -> Path:
    """Write the files of a finished run: journal, tables, report, recommendation."""
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / RunFile.SWEEP).write_text(json.dumps(run.sweep))
    journal = Journal(run_dir / RunFile.JOURNAL)
    append(journal, "sweep", sweep=run.sweep)
    for row in run.rows:
        _write_trial(row, run, journal)
    append(journal, "ended", exit_code=0)
    journal.close()
    write_all(load.write_run(run_dir), run_dir)
    return run_dir


def _write_trial(row: Row, run: MadeRun, journal: Journal) -> None:
    trial_id = row["trial_id"]
    config = {name: row[f"params.{name}"] for name in BASELINE}
    for name in (name for name, value in BASELINE.items() if isinstance(value, tuple)):
        config[name] = tuple(map(int, config[name].split(",")))
    trial = Trial(
        id=trial_id,
        stage=Stage(row["stage"]),
        config=config,
        budget=Budget(epochs=3),
        seed=row["seed"],
        repeat=row["repeat"],
    )
    append(journal, "asked", trial=trial)
    if row.get("started_at") is not None:
        append(journal, "started", trial_id=trial_id, node=row["node"], cores=row["cores"])
        for curve in run.curves:
            if curve["trial_id"] == trial_id:
                report = Report(
                    metrics=_named(curve, "metrics."),
                    **{k: curve[k] for k in ("step", "epoch", "samples", "elapsed_s")},
                )
                append(journal, "report", trial_id=trial_id, report=report)
    result = TrialResult(
        state=TrialState(row["state"]),
        reason=row["reason"] or "",
        metrics=_named(row, "metrics."),
        tags=_named(row, "tags."),
        started_at=row["started_at"].timestamp() if row["started_at"] is not None else None,
        wall_s=row["wall_s"],
        node=row["node"] or "",
        device=row["device"] or "",
        cores=row["cores"],
        isolation=row["isolation"] or "",
    )
    append(journal, "finished", trial_id=trial_id, result=result)


def _named(cells: Row, prefix: str) -> dict[str, Any]:
    """Return the cells with a prefix by the rest of their names, the unknown ones left out."""
    of_run = ("_low", "_high")  # made of the table, not measured
    return {
        name.removeprefix(prefix): value
        for name, value in cells.items()
        if name.startswith(prefix) and not name.endswith(of_run) and not pd.isna(value)
    }

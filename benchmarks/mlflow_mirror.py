"""CPU time of bringing a sweep to MLflow on sqlite, against one call a figure.

    python -m benchmarks.mlflow_mirror

The peer makes the calls that Ray's ``MLflowLoggerCallback`` makes: ``log_param`` for each
param, ``log_metric`` for each metric of each report. Ours is the mirror as a driver starts
it, importing and all. Both are processes of their own and write the same points. What
counts is CPU time: it is what the trials beside it can lose.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.side_by_side import HEADER, Pairs, environment_lines, in_turn
from orchestrator.arguments import Parser
from orchestrator.metrics import MEASURED, maximize
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import cell_text, read_history
from orchestrator.storage.journal import Journal, read_journal
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState

ROOT = Path(__file__).resolve().parents[1]
CONFIG = {"lr": 0.003, "batch_size": 1000, "num_workers": 3, "pin_memory": False, "amp": "off"}


def write_journal(run_dir: Path, num_trials: int, num_reports: int) -> None:
    """Write the journal of a sweep whose trials report every metric there is."""
    run_dir.mkdir(parents=True)
    journal = Journal(run_dir / RunFile.JOURNAL)
    sweep = SweepRecord(
        name="noop",
        objectives=(maximize("samples_per_s"), maximize("val_acc")),
        knobs={},
        baseline=CONFIG,
        accuracy_tolerance=0.005,
        space={"lr": "loguniform(0.001, 0.03)"},
        data="none",
    )
    journal.append("sweep", sweep=sweep.to_json())
    for number in range(num_trials):
        trial = Trial(
            id=f"{number:012x}",
            stage=Stage.TRAIN,
            config=CONFIG,
            budget=Budget(epochs=num_reports),
            seed=0,
        )
        journal.append("asked", trial=trial.to_json())
        journal.append("started", trial_id=trial.id, node="node0", cores=2)
        metrics: dict[str, float] = {}
        for step in range(1, num_reports + 1):
            metrics = {metric.name: step + 0.001 * number for metric in MEASURED}
            report = Report(step=step, epoch=step, samples=step, elapsed_s=step, metrics=metrics)
            journal.append("report", trial_id=trial.id, report=report.to_json())
        result = TrialResult(state=TrialState.COMPLETED, metrics=metrics)
        journal.append("finished", trial_id=trial.id, result=result.to_json())
    journal.append("ended", exit_code=0)
    journal.close()


def log_call_by_call(run_dir: Path, uri: str) -> None:
    """The peer."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    experiment = client.create_experiment("noop")
    record = read_history(read_journal(run_dir / RunFile.JOURNAL))
    for trial in record.trials.values():
        run_id = client.create_run(experiment, run_name=trial.trial.id).info.run_id
        for name, value in trial.trial.config.items():
            client.log_param(run_id, name, cell_text(value))
        for _, report in trial.reports:
            for name, figure in report.metrics.items():
                client.log_metric(run_id, name, figure, step=report.step)
        client.set_terminated(run_id)


def cpu_seconds(module: str, *arguments: str | Path) -> float:
    """CPU time of ``python -m module``.

    Raises:
        subprocess.CalledProcessError: It failed.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", module, *map(str, arguments)]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder: Path, num_trials: int, num_reports: int, pairs: int) -> Pairs:
    """CPU seconds of both for one sweep; each run has a new sqlite file."""
    run_dir = folder / f"{num_trials}-trials"
    write_journal(run_dir, num_trials, num_reports)

    def ours(index: int) -> float:
        uri = f"sqlite:///{run_dir}/ours-{index}/mlflow.db"
        return cpu_seconds("orchestrator.tracking.mlflow", run_dir, "--uri", uri)

    def peer(index: int) -> float:
        uri = f"sqlite:///{run_dir}/peer-{index}.db"
        return cpu_seconds("benchmarks.mlflow_mirror", "--log-call-by-call", run_dir, uri)

    return in_turn(ours, peer, pairs=pairs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a markdown table."""
    parser = Parser(description="CPU time of bringing a sweep to MLflow.")
    parser.add_argument("--trials", type=int, default=32)
    parser.add_argument("--reports", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--log-call-by-call", nargs=2, metavar=("RUN_DIR", "URI"))
    options = parser.parse_args(arguments)
    if options.log_call_by_call:
        run_dir, uri = options.log_call_by_call
        log_call_by_call(Path(run_dir), uri)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        empty = measure(Path(folder), 0, 0, options.pairs)
        full = measure(Path(folder), options.trials, options.reports, options.pairs)
    print("\n".join([*environment_lines("mlflow", "sqlalchemy"), "", HEADER]))
    print(empty.row("a sweep without trials", "CPU s"))
    print(full.row(f"{options.trials} trials of {options.reports} reports", "CPU s"))
    for name, a, b in (("ours", full.ours, empty.ours), ("peer", full.peer, empty.peer)):
        per_trial_s = (statistics.median(a) - statistics.median(b)) / options.trials
        print(f"\n{name}: {1000 * per_trial_s:.1f} CPU ms a trial past the start")
    return 0


if __name__ == "__main__":
    sys.exit(main())

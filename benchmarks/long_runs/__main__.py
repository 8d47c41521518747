"""Long and large runs: a table of what they take, with everything on.

    python -m benchmarks.long_runs [--trials 3000] [--seconds 60] [--reports 50000]

Rows: no-op trials, the first third beside the last; reports of several trials at a rate; very many
reports of one trial; and the resumption of each. "MLflow" is the time from the end of the last
trial to the end of the command, which waits for it. The exit code is 1 where a limit is missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.long_runs.watched import ROOT, Watched, mlflow_runs, watch
from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser

RESUME_S: Final = 30.0
MLFLOW_S: Final = 30.0
PER_S: Final = 500
LEAST_SHARE: Final = 0.9
"""Share of the reports that are to come in time: a trial that is held up reports less often."""
FLAT: Final = 1.5
"""A trial of the last third may take so many times what one of the first third does."""
MOST_KIB: Final = 64.0
"""Memory that the driver keeps of a trial."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of the table: what was measured, the figure, what it may be, and if it is that."""

    what: str
    figure: str
    limit: str = ""
    is_met: bool = True


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where a limit is missed."""
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=3000, help="no-op trials; 0: none")
    parser.add_argument("--seconds", type=int, default=60, help=f"of {PER_S} reports/s; 0: none")
    parser.add_argument("--reports", type=int, default=50_000, help="of one trial; 0: none")
    options = parser.parse_args(arguments)
    print("\n".join(environment_lines("ray", "mlflow", "torch")))
    print("\n| what | figure | to reach | reached |\n| --- | --- | --- | --- |")
    code = 0
    with tempfile.TemporaryDirectory(prefix="long-") as name:
        for row in _rows(Path(name), options.trials, options.seconds, options.reports):
            code |= not row.is_met
            print(f"| {row.what} | {row.figure} | {row.limit} | {_word(row)} |", flush=True)
    return code


def _word(row: Row) -> str:
    return ("yes" if row.is_met else "no") if row.limit else ""


def _rows(folder: Path, trials: int, seconds: int, reports: int) -> Iterator[Row]:
    if trials:
        noop = ROOT / "benchmarks" / "noop_sweep.py"
        run = _run(folder, "noop", noop, {"NOOP_TRIALS": str(trials)}, "finished")
        yield from _of_trials(run, trials)
        yield from _both_ends(run, f"{trials:,} no-op trials", trials + 1)
    reporting = ROOT / "benchmarks" / "long_runs" / "reporting.py"
    num = max(1, len(os.sched_getaffinity(0)))
    if seconds:
        each = PER_S // num
        environment = {
            "REPORT_TRIALS": str(num), "REPORTS": str(each * seconds), "REPORTS_PER_S": str(each),
        }  # fmt: skip
        run = _run(folder, "rate", reporting, environment, "report")
        what = f"{PER_S} reports/s of {num} trials for {seconds} s"
        yield from _of_reports(run, what, least=LEAST_SHARE * PER_S)
        yield from _both_ends(run, "the same", num + 1)
    if reports:
        environment = {"REPORT_TRIALS": "1", "REPORTS": str(reports), "REPORTS_PER_S": "1000"}
        run = _run(folder, "one", reporting, environment, "report")
        yield from _of_reports(run, f"{reports:,} reports of one trial")
        yield from _both_ends(run, "the same", 2)


@dataclass(frozen=True, kw_only=True)
class _Run:
    watched: Watched
    resumed: Watched
    database: Path


def _run(
    folder: Path, name: str, sweep: Path, environment: Mapping[str, str], counted: str
) -> _Run:
    """Run a sweep to its end, then resume it, which repeats its journal and finds nothing left."""
    out, database = folder / name, folder / f"{name}.db"
    arguments: list[str | Path] = [sweep, "--out", out, "--tracking-uri", f"sqlite:///{database}"]
    watched = watch(arguments, out, cwd=folder, counted=counted, environment=environment)
    again: list[str | Path] = [sweep, "--resume", out]
    resumed = watch(again, out, cwd=folder, counted=counted, environment=environment)
    return _Run(watched=watched, resumed=resumed, database=database)


def _of_trials(run: _Run, trials: int) -> Iterator[Row]:
    watched = run.watched
    first, last = watched.per_trial(0.02, 0.34), watched.per_trial(0.66, 1.0)
    yield Row(what=f"{trials:,} no-op trials, the whole command", figure=f"{watched.wall_s:.0f} s")
    for place, what, unit, scale in (
        (0, "wall time a trial", "ms", 1000),
        (1, "the driver's CPU time a trial", "ms", 1000),
    ):
        a, b = scale * first[place], scale * last[place]
        yield Row(
            what=f"{what}, first third and last",
            figure=f"{a:.1f} {unit}, {b:.1f} {unit}",
            limit=f"at most {FLAT} times",
            is_met=b <= FLAT * a,
        )
    yield Row(
        what="the driver's memory a trial, first third and last",
        figure=f"{first[2]:.1f} KiB, {last[2]:.1f} KiB",
        limit=f"at most {MOST_KIB:.0f} KiB",
        is_met=last[2] <= MOST_KIB,
    )
    yield Row(what="the driver's memory, at most", figure=_mib(watched))


def _of_reports(run: _Run, what: str, least: float = 0.0) -> Iterator[Row]:
    busy = run.watched.busy_cores
    first, last = run.watched.part(0.05, 0.95)
    rate = (last.num_done - first.num_done) / (last.at_s - first.at_s)
    yield Row(what=f"{what}, the whole command", figure=f"{run.watched.wall_s:.0f} s")
    yield Row(
        what="reports/s that came",
        figure=f"{rate:.0f}",
        limit=f"at least {least:.0f}" if least else "",
        is_met=rate >= least,
    )
    limit = "under 1 core"
    yield Row(what="the driver meanwhile", figure=f"{busy:.2f} cores", limit=limit, is_met=busy < 1)
    yield Row(what="the driver's memory, at most", figure=_mib(run.watched))


def _both_ends(run: _Run, what: str, num_runs: int) -> Iterator[Row]:
    there, ended = mlflow_runs(run.database)
    yield Row(
        what=f"{what}: MLflow complete after the last trial",
        figure=f"{run.watched.mlflow_s:.1f} s, {ended:,} of {num_runs:,} runs",
        limit=f"{MLFLOW_S:.0f} s",
        is_met=run.watched.mlflow_s <= MLFLOW_S and there == ended == num_runs,
    )
    yield Row(
        what=f"{what}: --resume",
        figure=f"{run.resumed.wall_s:.1f} s",
        limit=f"{RESUME_S:.0f} s",
        is_met=run.resumed.wall_s < RESUME_S,
    )


def _mib(watched: Watched) -> str:
    return f"{max(look.resident for look in watched.looks) / 2**20:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())

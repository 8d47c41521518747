"""Time and memory of the driver to replay a search, by the number of trials.

    python -m benchmarks.replay

Trials are runs of a generated table on 1,000 simulated cores, drawn at random from a space of a
million configs, so that the search itself is cheap. Each has five reports. The journal, the
console's lines (into a file) and the driver's state are those of a real sweep; the tables are made
once at the end and timed separately. The promise: 10,000 trials in 60 s and 2 GiB; the driver's
time a trial flat from 100 to 100,000. A factored search, which asks the analysis on its way, is
timed on LeNet's recorded runs.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness import environment_lines, in_fresh_process
from benchmarks.simulation import play
from orchestrator import Rigor, Sweep, Trainable, integers, knobs, learning, maximize, systems
from orchestrator.analysis.tables.load import write_tables
from orchestrator.arguments import Parser
from orchestrator.machine import Machine, Node
from orchestrator.replay.recorded import RecordedRun
from orchestrator.search import Random
from orchestrator.storage.files import RunFile
from orchestrator.tracking.console.live import Lines
from orchestrator.trial import Report, Trial

SIZES = (100, 1_000, 10_000, 100_000)
NUM_REPORTS = 5
CORES_PER_TRIAL = 2
MACHINE = Machine(nodes=tuple(Node(name=f"node-{index}", cpus=40) for index in range(25)))
"""1,000 cores."""
PROMISED_S, PROMISED_GIB, PROMISED_TRIALS = 60.0, 2.0, 10_000


@knobs
class Config:
    """A million configs."""

    index: int = learning(default=0, ge=0, doc="decides the curve")
    workers: int = systems(default=0, ge=0, doc="decides the speed")


def _train(config: Config, run: object) -> None:
    """Do nothing: recorded runs are played."""


TABLE = Trainable(_train, Config, reports=[maximize("val_acc")], name="generated")


class Generated:
    """A table of which each run is made when it is drawn, from the hash of its trial."""

    def draw(self, trial: Trial) -> RecordedRun:
        """Return a run of 20 to 60 s."""
        digest = hashlib.sha256(f"{dict(trial.config)} {trial.repeat}".encode()).digest()
        epoch_s, height = 4 + 8 * digest[0] / 255, 0.5 + 0.4 * digest[1] / 255
        metrics: dict[str, float] = {"samples_per_s": 1000 / epoch_s}
        reports = [
            Report(
                step=100 * epoch,
                epoch=epoch,
                samples=6400 * epoch,
                elapsed_s=epoch_s * epoch,
                metrics={**metrics, "val_acc": height * (1 - 0.5**epoch)},
            )
            for epoch in range(1, NUM_REPORTS + 1)
        ]
        wall_s = NUM_REPORTS * epoch_s + 1
        return RecordedRun(reports=reports, wall_s=wall_s, metrics=reports[-1].metrics)


def sweep_of(num_trials: int) -> Sweep[Any]:
    """Return a sweep of so many random configs, without stages after the search."""
    return Sweep(
        TABLE,
        question="What does the driver take?",
        space=Config(index=integers(0, 99_999), workers=integers(0, 9)),
        epochs=NUM_REPORTS,
        search=Random(num_trials),
        cores_per_trial=CORES_PER_TRIAL,
        rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
    )


def measure(num_trials: int) -> dict[str, float]:
    """Replay so many trials in this process; return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        began, began_cpu = time.perf_counter(), time.process_time()
        with (Path(folder) / "console").open("w") as lines:
            spent = play(
                sweep_of(num_trials),
                Generated().draw,
                MACHINE,
                run_dir,
                source="generated",
                folds=[Lines(lines)],
            )
        played_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
        peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        trials = write_tables(run_dir)["trials"]
        assert len(trials) == num_trials
        return {
            "trials": num_trials,
            "played_s": played_s,
            "cpu_s": cpu_s,
            "simulated_s": spent.simulated_s,
            "peak_gib": peak_gib,
            "tables_s": time.perf_counter() - began - played_s,
        }


def table_lines(rows: Sequence[dict[str, float]]) -> Iterator[str]:
    """Yield the table of the results."""
    yield "| trials | replay | CPU time a trial | simulated | peak memory | tables afterwards |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        each_ms = 1000 * row["cpu_s"] / row["trials"]
        yield (
            f"| {row['trials']:,.0f} | {row['played_s']:.1f} s | {each_ms:.2f} ms | "
            f"{row['simulated_s'] / 3600:.2f} h | {row['peak_gib']:.2f} GiB | "
            f"{row['tables_s']:.1f} s |"
        )


def of_factored_searches(num: int) -> str:
    """Replay so many factored searches in this process; return the medians in a sentence."""
    # Not at the top: the trainables import torch, and a replay uses none of its memory.
    from benchmarks.search import recorded, truth

    lenet, figures = recorded.recorded("lenet", recorded.LENET_200), []
    for seed in range(num + 1):
        with tempfile.TemporaryDirectory() as folder:
            run_dir, sweep = Path(folder) / "run", replace(lenet.sweep, seed=seed)
            runs, began = truth.Draws(lenet, seed), time.process_time()
            play(sweep, runs.draw, truth.MACHINE, run_dir, source="", interleaved_gib=8)
            taken_s = time.process_time() - began
            figures.append((taken_s, (run_dir / RunFile.JOURNAL).read_text().count('"finished"')))
    taken_s, trials = map(median, zip(*figures[1:], strict=True))  # the first one imports pandas
    return f"a factored search of 200 configs, {trials:g} trials: {taken_s:.2f} s of CPU time"


def verdict(rows: Sequence[dict[str, float]]) -> tuple[str, bool]:
    """Return the promise with the figure, and whether it is kept."""
    row = next((row for row in rows if row["trials"] == PROMISED_TRIALS), rows[-1])
    kept = row["played_s"] <= PROMISED_S and row["peak_gib"] <= PROMISED_GIB
    text = (
        f"{row['trials']:,.0f} trials in {row['played_s']:.1f} s and {row['peak_gib']:.2f} GiB, "
        f"promised {PROMISED_S:g} s and {PROMISED_GIB:g} GiB"
    )
    return text, kept


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where the promise is not kept."""
    parser = Parser(prog="python -m benchmarks.replay", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of trials")
    parser.add_argument("--seeds", type=int, default=5, help="factored searches")
    options = parser.parse_args(arguments)
    rows = [in_fresh_process(measure, size) for size in options.sizes]
    text, kept = verdict(rows)
    factored = in_fresh_process(of_factored_searches, options.seeds)
    print("\n".join([*environment_lines(), "", *table_lines(rows), "", text, factored]))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())

"""Time and memory from a run's directory to its page, by number of trials.

    python -m benchmarks.analysis --trials 1000 100000

A made run of 20 knobs: speed and accuracy follow a smooth function of the knobs with 2 % noise,
one config in ten is run three times. Each size runs in a separate process, so that its peak memory
is its own; the steps are those of ``orchestrator show RUN_DIR``. CPU time includes imports.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from benchmarks.harness import environment_lines, in_fresh_process
from orchestrator.arguments import Parser
from orchestrator.metrics import maximize
from orchestrator.space.knob import Role
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import KnobRecord, SweepRecord
from orchestrator.storage.tables import trial_dtypes, typed
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Stage, TrialState

NUM_KNOBS: Final = 20
STEPS: Final = ("load", "configs", "front", "effects", "report")
_LEVELS: Final = (4, 8)
"""Number of values of the first ten knobs, and of the others."""


def made_sweep() -> SweepRecord:
    """Return the record of the made sweep."""
    names = [f"knob_{number:02d}" for number in range(NUM_KNOBS)]
    roles = tuple(Role)
    knobs = {
        name: KnobRecord(role=roles[n % 3], unit="", doc="", default=0, allowed="an int >= 0")
        for n, name in enumerate(names)
    }
    return SweepRecord(
        name="made",
        objectives=(maximize("samples_per_s"), maximize("val_acc")),
        knobs=knobs,
        baseline=dict.fromkeys(names, 0),
        rigor=Rigor(accuracy_tolerance=0.005),
        space=dict.fromkeys(names, "choice(...)"),
        data="none",
    )


def write_run(run_dir: Path, num_trials: int) -> None:
    """Write the directory of a made run."""
    rng = np.random.default_rng(0)
    sweep = made_sweep()
    runs = np.where(rng.random(num_trials) < 0.1, 3, 1)
    rows = np.repeat(np.arange(num_trials), runs)[:num_trials]
    levels = [_LEVELS[number >= 10] for number in range(NUM_KNOBS)]
    knobs = np.column_stack([rng.integers(0, top, num_trials) for top in levels])[rows]
    knobs[rows == 0] = 0
    scaled = knobs / (np.array(levels) - 1)
    speed = 10_000 * np.exp(scaled @ rng.normal(0.1, 0.1, NUM_KNOBS))
    speed *= np.exp(0.02 * rng.standard_normal(num_trials))
    accuracy = 0.9 - 0.02 * ((scaled - rng.random(NUM_KNOBS)) ** 2).mean(axis=1)
    accuracy += 0.0005 * rng.standard_normal(num_trials)
    within = {"low": 0.99, "high": 1.01}
    columns = {
        "trial_id": [f"{number:012x}" for number in range(num_trials)],
        "stage": str(Stage.TRAIN),
        "state": str(TrialState.COMPLETED),
        "seed": 0,
        "repeat": pd.Series(rows).groupby(rows).cumcount().to_numpy(),
        "data": "none",
        "node": "node0",
        "device": "cpu",
        "cores": 4,
        "isolation": "leased",
        "wall_s": 50_000 / speed,
        **{f"params.{name}": knobs[:, number] for number, name in enumerate(sweep.knobs)},
        "metrics.samples_per_s": speed,
        **{f"metrics.samples_per_s_{end}": speed * by for end, by in within.items()},
        **{f"metrics.samples_per_s_within_{end}": speed * by for end, by in within.items()},
        "metrics.val_acc": accuracy,
        "metrics.epoch_s": 20_000 / speed,
        "metrics.step_ms": 1e6 / speed,
        "metrics.wait_ms": 0.3e6 / speed,
        "metrics.forward_ms": 0.3e6 / speed,
        "metrics.backward_ms": 0.4e6 / speed,
        "metrics.peak_rss_gib": 1 + scaled[:, 0],
        "tags.bound": "loader",
    }
    frame = pd.DataFrame(columns)
    trials = typed(frame, trial_dtypes(sweep.knobs, frame.columns))
    run_dir.mkdir(parents=True)
    (run_dir / RunFile.SWEEP).write_text(json.dumps(sweep.to_json()))
    trials.to_parquet(run_dir / RunFile.TRIALS)
    curves = pd.DataFrame({"trial_id": [], "step": [], "elapsed_s": []})
    curves.astype({"trial_id": "str"}).to_parquet(run_dir / RunFile.CURVES)


def measure(run: str) -> dict[str, float]:
    """Return the seconds of each step, the peak of memory in GiB and the page's MB."""
    import orchestrator.analysis as an
    from orchestrator.analysis.report.write import write_all

    run_dir, seconds = Path(run), {}
    start = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal start
        seconds[name] = time.perf_counter() - start
        start = time.perf_counter()

    loaded = an.load(run_dir)
    lap("load")
    configs = loaded.ranked
    lap("configs")
    an.pareto_front(configs, objectives=loaded.rule.directions)
    lap("front")
    an.effects(loaded, on="samples_per_s")
    lap("effects")
    write_all(loaded, run_dir)
    lap("report")
    used = resource.getrusage(resource.RUSAGE_SELF)
    page = (run_dir / RunFile.REPORT).stat().st_size
    return seconds | {
        "total": sum(seconds.values()),
        "cpu": used.ru_utime + used.ru_stime,
        "gib": used.ru_maxrss / 2**20,
        "mb": page / 1e6,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, a row a size."""
    parser = Parser(prog="python -m benchmarks.analysis", description=__doc__)
    parser.add_argument("--trials", type=int, nargs="+", default=[1000, 100_000, 1_000_000])
    options = parser.parse_args(arguments)
    print("\n".join(environment_lines("pandas", "plotly")))
    print(f"\n| trials | {' s | '.join((*STEPS, 'total', 'CPU'))} s | peak GiB | page MB |")
    print("| --- " * (len(STEPS) + 5) + "|")
    for number in options.trials:
        with tempfile.TemporaryDirectory() as folder:
            write_run(Path(folder) / "run", number)
            row = in_fresh_process(measure, f"{folder}/run")
        cells = [f"{row[name]:.2f}" for name in (*STEPS, "total", "cpu", "gib", "mb")]
        print(f"| {number:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

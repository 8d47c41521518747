"""Run directories as a sweep writes them, with every kind of row, made from a fixed seed.

The figures follow a simple model of a machine with four cores, so that the right
findings are known: see :func:`speed_of` and :func:`accuracy_of`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.findings.findings import findings, recommended_json
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metric_table import MEASURED
from orchestrator.space.knob import Role
from orchestrator.storage.history import TRIAL_COLUMNS
from orchestrator.storage.sweep_record import FORMAT, SweepRecord
from orchestrator.storage.tables import (
    CURVE_COLUMNS,
    candidates_table,
    trial_dtypes,
    typed,
    write_candidates,
)

Config = dict[str, Any]
Row = dict[str, Any]

KNOBS: dict[str, tuple[Any, str, str]] = {
    "lr": (3e-3, "learning", "a float > 0"),
    "batch_size": (1000, "both", "an int >= 1"),
    "num_workers": (0, "systems", "an int >= 0"),
    "fanouts": ((10, 25), "both", "a tuple of int >= 1"),
    "ranks": (1, "both", "an int >= 1"),
    "prefetch_factor": (2, "systems", "an int >= 1"),
    "persistent_workers": (True, "systems", "a bool"),
    "threads": (0, "systems", "an int >= 0"),
    "allocator": ("tuned", "systems", "one of 'default', 'tuned', 'jemalloc'"),
    "dropout": (0.5, "learning", "a float >= 0 and < 1"),
}
BASELINE: Config = {name: default for name, (default, _, _) in KNOBS.items()}
SPEED, ACCURACY = "metrics.samples_per_s", "metrics.val_acc"
VARIED = ("num_workers", "batch_size", "lr")
STEPS_OF_A_TRIAL = {
    "trial_id": f"{0:012x}", "epoch": 1, "first_step": 0, "num_steps": 10, "samples": 10_000,
    "duration_s": 1.5,
}  # fmt: skip
NUM_SEEDS = 19_700
"""Training samples of an epoch."""
_TABLES: dict[str, RunTables] = {}
_MOST_TABLES = 30


def config(**changes: object) -> Config:
    return {**BASELINE, **changes}


def speed_of(c: Mapping[str, Any]) -> float:
    """Return samples a second: sampling is shared out over the workers, the step is not."""
    sampling_s = c["batch_size"] / 9_000 / max(1, min(c["num_workers"], 3.2))
    step_s = 0.012 + c["batch_size"] / 26_000
    serial_s = sampling_s + step_s if c["num_workers"] == 0 else max(sampling_s, step_s)
    return c["batch_size"] / serial_s


def accuracy_of(c: Mapping[str, Any]) -> float:
    """Return validation accuracy: best at an lr that grows with the batch."""
    best_lr = 3e-3 * math.sqrt(c["batch_size"] / 500)
    return 0.917 - 0.011 * math.log(c["lr"] / best_lr) ** 2 - 0.002 * (c["batch_size"] > 2000)


class MadeRun:
    """Rows of a run, written as a sweep does."""

    def __init__(self, seed: int = 0, noise: float = 0.012) -> None:
        self.rng = np.random.default_rng(seed)
        self.noise = noise
        self.rows: list[Row] = []
        self.curves: list[Row] = []
        self.sweep = sweep_json()
        self.candidates = pd.DataFrame()

    def add(
        self,
        c: Config,
        *,
        stage: str = "train",
        state: str = "completed",
        reason: str = "",
        repeat: int = 0,
        **cells: object,
    ) -> Row:
        """Add a row; ``cells`` overrides columns by their full name."""
        ran = state in ("completed", "stopped")
        row: Row = dict.fromkeys(TRIAL_COLUMNS[:-1], None) | {
            "trial_id": f"{len(self.rows):012x}",
            "stage": stage,
            "state": state,
            "reason": reason or None,
            "seed": repeat,
            "repeat": repeat,
            "data": self.sweep["data"],
            "isolation": "leased",
        }
        row |= {
            f"params.{k}": ",".join(map(str, v)) if isinstance(v, tuple) else v
            for k, v in c.items()
        }
        row |= {f"metrics.{metric.name}": math.nan for metric in MEASURED}
        if ran:
            row |= self._figures(c, stage, state)
        row |= cells
        self.rows.append(row)
        if ran:
            self._add_curve(row)
        return row

    def add_runs(
        self,
        c: Config,
        speeds: Sequence[float],
        *,
        within: float = 0.001,
        first: int = 0,
        **cells: object,
    ) -> None:
        """Add a run a speed, as accurate as any other; ``cells`` as in :meth:`add`.

        Args:
            c: The config.
            speeds: Samples a second of each run.
            within: Standard error of a speed over the blocks of its run, relative.
            first: Repeat of the first run.
            cells: Stage and other columns of all of them.
        """
        for repeat, speed in enumerate(speeds, start=first):
            ends = {"low": speed * (1 - 1.96 * within), "high": speed * (1 + 1.96 * within)}
            figures: Row = {SPEED: speed, ACCURACY: 0.9, "metrics.peak_rss_gib": 1.0}
            figures |= {f"{SPEED}_{end}": value for end, value in ends.items()}
            figures |= {f"{SPEED}_within_{end}": value for end, value in ends.items()}
            self.add(c, repeat=repeat, **{**figures, **cells})  # type: ignore[arg-type]

    def _figures(self, c: Config, stage: str, state: str) -> Row:
        speed = speed_of(c) * math.exp(self.noise * self.rng.standard_normal())
        epochs = 3 if state == "completed" else 1
        step_ms = 1000 * c["batch_size"] / speed
        wait = max(0.3, step_ms - 12 - c["batch_size"] / 26)
        rest = step_ms - wait
        figures = {
            "samples_per_s": speed,
            "samples_per_s_low": speed * 0.985,
            "samples_per_s_high": speed * 1.015,
            "samples_per_s_within_low": speed * 0.985,
            "samples_per_s_within_high": speed * 1.015,
            "val_acc": accuracy_of(c) + 0.0005 * self.rng.standard_normal(),
            "train_loss": 0.61 - 0.3 * (accuracy_of(c) - 0.9),
            "epochs": epochs,
            "steps": epochs * math.ceil(NUM_SEEDS / c["batch_size"]),
            "train_s": epochs * NUM_SEEDS / speed,
            "epoch_s": NUM_SEEDS / speed + 0.2,
            "epoch_start_s": 0.05 + 0.04 * c["num_workers"],
            "eval_s": 1.9,
            "step_ms": step_ms,
            "wait_ms": wait,
            "transfer_ms": 0.01 * rest,
            "forward_ms": 0.42 * rest,
            "backward_ms": 0.47 * rest,
            "optimizer_ms": 0.07 * rest,
            "peak_rss_gib": 0.9 + 0.35 * c["num_workers"],
            "cpu_util": 0.6,
            "system_time_share": 0.03,
            "faults_per_step": 4.0,
        }
        if stage == "confirm":
            figures["test_acc"] = figures["val_acc"] - 0.12
        cells: Row = {f"metrics.{name}": float(value) for name, value in figures.items()}
        return cells | {
            "node": "node-a",
            "device": "cpu",
            "cores": 4,
            "started_at": datetime.fromtimestamp(1_790_000_000 + 20 * len(self.rows), UTC),
            "wall_s": 4 + figures["train_s"],
            "tags.contaminated": "false",
            "tags.bound": "loader" if wait > rest else "compute",
            "tags.oversubscribed": "8 workers on 4 cores" if c["num_workers"] > 4 else None,
        }

    def _add_curve(self, row: Row) -> None:
        epochs = int(row["metrics.epochs"])
        for epoch in range(1, epochs + 1):
            self.curves.append(
                {
                    "trial_id": row["trial_id"],
                    "step": epoch * int(row["metrics.steps"]) // epochs,
                    "epoch": epoch,
                    "samples": epoch * NUM_SEEDS,
                    "elapsed_s": 1.5 + epoch * (row["metrics.train_s"] / epochs + 0.6),
                    "metrics.val_acc": row["metrics.val_acc"] - 0.2 * math.exp(-1.6 * epoch),
                    "metrics.train_loss": row["metrics.train_loss"] + 2.6 * math.exp(-1.1 * epoch),
                }
            )

    @property
    def trials(self) -> pd.DataFrame:
        dtypes = trial_dtypes(self.record.knobs, {name for row in self.rows for name in row})
        rows = pd.DataFrame(self.rows, columns=list(dtypes), dtype=object)
        return typed(rows, dtypes)

    @property
    def record(self) -> SweepRecord:
        """The sweep, as ``sweep.json`` has it now."""
        return SweepRecord.from_json(self.sweep, "a made run")

    @property
    def tables(self) -> RunTables:
        """The run's tables, with the rows that it has now.

        Runs of the same content share them, so that figures derived from them are computed once.
        """
        candidates = self.candidates
        content = repr((self.rows, self.curves, self.sweep, candidates.attrs, candidates.to_dict()))
        if content not in _TABLES:
            if len(_TABLES) == _MOST_TABLES:
                del _TABLES[next(iter(_TABLES))]
            columns = [*CURVE_COLUMNS, "metrics.val_acc", "metrics.train_loss"]
            steps = [dict(STEPS_OF_A_TRIAL, dropped=why) for why in ("warm_up", None)]
            _TABLES[content] = RunTables(
                trials=self.trials,
                curves=pd.DataFrame(self.curves, columns=columns),
                steps=pd.DataFrame(steps),
                sweep=self.record,
                candidates=candidates,
            )
        return _TABLES[content]

    def write(self, folder: Path) -> Path:
        """Write ``sweep.json`` and the tables, and returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sweep.json").write_text(json.dumps(self.sweep))
        self.trials.to_parquet(folder / "trials.parquet")
        self.trials.to_csv(folder / "trials.csv", index=False)
        self.tables.curves.to_parquet(folder / "curves.parquet")
        self.tables.steps.to_parquet(folder / "steps.parquet")
        if len(self.candidates):
            write_candidates(folder, self.candidates)
        return folder


def sweep_json() -> dict[str, Any]:
    """Return the content of ``sweep.json`` for a products_loader sweep, as read from a file."""
    sweep = {
        "format": FORMAT,
        "name": "products_loader",
        "file": "sweeps/products_loader.py",
        "question": "Which loader settings train GraphSAGE fastest on ogbn-products "
        "without losing accuracy?",
        "trainable": "graphsage",
        "data": "products-synthetic",
        "data_fingerprint": "9f0c1d",
        "data_note": "ogbn-products is not under data; running on products-synthetic "
        "instead, which is not the same data. To get ogbn-products: --download",
        "seed": 0,
        "objectives": [
            {"metric": "samples_per_s", "goal": "maximize"},
            {"metric": "val_acc", "goal": "maximize"},
        ],
        "knobs": {
            name: {"role": role, "unit": "", "doc": f"what {name} does", "default": default,
                   "allowed": allowed}
            for name, (default, role, allowed) in KNOBS.items()
        },
        "space": {
            "num_workers": "choice(0, 3, 6, 8)",
            "batch_size": "choice(500, 1000, 4000)",
            "lr": "choice(0.003, 0.01)",
        },
        "fixed": {k: v for k, v in BASELINE.items() if k not in VARIED},
        "baseline": BASELINE,
        "budget": {"epochs": 3, "steps": None},
        "repeats": 1,
        "max_repeats": 1,
        "confirm": 3,
        "max_confirm": 3,
        "finalists": 1,
        "check_isolated": 0,
        "accuracy_tolerance": 0.005,
        "cores_per_trial": 4,
        "isolation": "leased",
        "published": PUBLISHED,
        "command_line": ["python", "-m", "orchestrator", "sweeps/products_loader.py"],
        "versions": {"python": "3.11.2", "torch": "2.15.0", "dgl": "1.1.3", "numpy": "2.4.6",
                     "ray": "2.60.0", "mlflow": "3.17.2"},
        "hardware": {"cpu_model": "Xeon 2.2 GHz", "num_cores": 4, "memory_gib": 15.6, "gpus": []},
        "git": {"commit": "0a3ebe6d1c", "dirty": True},
        "started_at": 1_790_000_000.0,
    }  # fmt: skip
    return json.loads(json.dumps(sweep))


_STUDY = "Deep Graph Library tutorial, 2018 laptop with 4 cores, no GPU"
PUBLISHED = [
    {"source": _STUDY, "knobs": {"num_workers": workers}, "figures": {"epoch_s": epoch_s},
     "note": "first epoch; ours is the median of all", "data": "products-synthetic"}
    for workers, epoch_s in ((0, 81.22), (3, 44.51), (6, 44.35), (8, 43.41))
]  # fmt: skip


def probe(run: MadeRun, c: Config, repeat: int = 0, **cells: object) -> Row:
    """Add a probe: only a speed, and no figure of a whole training."""
    row = run.add(c, stage="probe", repeat=repeat, isolation="exclusive")
    nothing = ("epochs", "steps", "train_s", "epoch_s", "eval_s", "val_acc", "train_loss")
    row |= {f"metrics.{name}": math.nan for name in nothing} | cells
    run.curves = [report for report in run.curves if report["trial_id"] != row["trial_id"]]
    return row


def factored_run(seed: int = 0, *, confirmed: bool = True) -> MadeRun:
    """Return a factored run: 24 configs, 12 settings probed 3 times, 6 curves with 2 stopped.

    The curves are trained with the three workers, so that configs without are composed. The
    confirm stage has three short rounds, and one whole training of the fastest config.
    """
    run = MadeRun(seed)
    batches, workers, rates = (500, 1000, 4000), (0, 3, 6, 8), (3e-3, 1e-2)
    configs = [
        config(lr=lr, batch_size=batch, num_workers=number)
        for lr in rates
        for batch in batches
        for number in workers
    ]
    for repeat in range(3):
        for c in configs[: len(batches) * len(workers)]:
            probe(run, c, repeat)
    for batch in batches:
        for lr in rates:
            c = config(lr=lr, batch_size=batch, num_workers=3)
            if batch == 500 and lr == 1e-2:
                run.add(
                    c, state="stopped", reason="paused after 1 of 3 epochs", isolation="exclusive"
                )
                continue
            for repeat in range(2):
                run.add(c, repeat=repeat, isolation="exclusive")
    if confirmed:
        fastest = config(lr=1e-2, batch_size=4000, num_workers=3)
        for repeat in range(3):
            for c in (fastest, config()):
                row = probe(run, c, repeat, stage="confirm")
                row["tags.interleaved"] = "true"
        run.add(fastest, stage="confirm", repeat=3, isolation="exclusive")
    roles = {name: Role(role) for name, (_, role, _) in KNOBS.items()}
    values = [tuple(c.values()) for c in configs]
    run.candidates = candidates_table(tuple(BASELINE), values, run.record.knobs, roles)
    run.sweep["search"] = "Factored()"
    return run


def products_run(seed: int = 0) -> MadeRun:
    """Return a whole run: 24 configs, confirm runs of two, and one row of every other kind."""
    run = MadeRun(seed)
    for lr in (3e-3, 1e-2):
        for batch_size in (500, 1000, 4000):
            for num_workers in (0, 3, 6, 8):
                run.add(config(lr=lr, batch_size=batch_size, num_workers=num_workers))
    run.rows[7]["tags.contaminated"] = "12 % of its cores' time went to others"
    run.add(config(batch_size=4000, lr=0.1), state="stopped", reason="val_acc 0.11 after 1 epoch")
    run.add(config(ranks=2), state="infeasible", reason="needs 2 GPUs, the largest node has 0")
    run.add(config(ranks=4), state="infeasible", reason="needs 4 GPUs, the largest node has 0")
    run.add(
        config(num_workers=3, allocator="jemalloc"),
        state="failed",
        reason="OSError: libjemalloc.so.2: cannot open <shared> object file\n  line 2 & more",
        wall_s=1.2,
    )
    run.add(
        config(num_workers=6, allocator="default"), state="not_run", reason="the time budget ended"
    )
    for repeat in range(3):
        for c in (config(lr=1e-2, batch_size=4000, num_workers=3), config()):
            run.add(c, stage="confirm", repeat=repeat)
    return run


def content_of(tables: RunTables) -> dict[str, Any]:
    """Return ``recommended.json`` of a run, as a reader gets it."""
    content = recommended_json(findings(tables))
    return json.loads(json.dumps(content, allow_nan=False))


def run_by_workers(*speeds: tuple[int, float]) -> MadeRun:
    """Return one run a config, named by its workers."""
    run = MadeRun()
    for workers, speed in speeds:
        run.add_runs(config(num_workers=workers), [speed])
    return run


def confirm(run: MadeRun, speeds: Mapping[int, Sequence[float]], **cells: object) -> MadeRun:
    """Add confirm runs of configs, named by their workers."""
    for workers, of_config in speeds.items():
        run.add_runs(config(num_workers=workers), of_config, stage="confirm", **cells)
    return run


def partly_contaminated_run() -> MadeRun:
    """Return a run: its fast config has a contaminated run that is slower and less accurate."""
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1000.0, 1000.0])
    fast = config(num_workers=3)
    run.add_runs(fast, [1300.0, 1300.0])
    dirty = {"tags.contaminated": "30 %", ACCURACY: 0.897}
    run.add_runs(fast, [900.0], first=2, **dirty)
    return run

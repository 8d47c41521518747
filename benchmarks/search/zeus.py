"""Replays a factored search on the public traces of Zeus: six workloads on an NVIDIA V100.

    python -m benchmarks.search --truths zeus --traces DATA/tables/zeus --seeds 20

A config is a batch size and a power limit. The traces have the seconds of an epoch of each, and for
each batch size the epochs that several runs took to a row of targets (You, Chung and Chowdhury,
"Zeus: Understanding and Optimizing GPU Energy Consumption of DNN Training", NSDI 2023). The search
looks for the config that reaches the last target first. Nothing of it was tuned on these traces.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.search.truth import MACHINE, Draws, Timing, Truth
from benchmarks.simulation import play
from orchestrator import Sweep, Trainable, both, choice, knobs, maximize, minimize, systems
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.tables.load import load_run, write_tables
from orchestrator.search import Factored

SAMPLES: Final[Mapping[str, int]] = {
    "cifar100": 50_000,
    "imagenet": 1_281_167,
    "librispeech": 281_241,
    "movielens-1m": 4_970_845,  # 994,169 ratings, each with four that are none
    "sentiment140": 1_600_000,
    "squad": 87_599,
}
"""Training samples of each set, which the traces do not contain; a probe's length needs them."""
LOG_SPREAD: Final = 0.01
"""Spread of a speed from run to run, which the traces do not contain."""
REACHED: Final = 0.99
"""Stands for the last target: a curve is the share of the targets that a run has reached."""


@knobs
class ZeusConfig:
    """Knobs of the traces."""

    power_limit: int = systems(default=250, ge=1, doc="watts that the GPU may take")
    batch_size: int = both(default=1, ge=1, doc="samples a step")


def _train(config: ZeusConfig, run: object) -> None:
    """Do nothing: runs are drawn."""


TRACED: Final = Trainable(
    _train, ZeusConfig, reports=[maximize("val_acc")], name="traced", keeps_checkpoints=True
)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A workload of the traces.

    Attributes:
        truth: Its speeds and curves.
        to_target_s: Mean seconds to the last target, by batch size and power limit.
    """

    truth: Truth
    to_target_s: Mapping[tuple[int, int], float]


def workloads(traces: Path) -> Iterator[Workload]:
    """Yield the workloads, each with the batch sizes of which both speed and curves are known."""
    trained = pd.read_csv(traces / "summary_train.csv")
    powers = pd.read_csv(traces / "summary_power_v100.csv")
    for dataset, runs in trained.groupby("dataset"):
        times = powers[powers["dataset"] == dataset]
        times = times[times["optimizer"].isin(runs["optimizer"])]
        sizes = sorted({*runs["batch_size"]} & {*times["batch_size"]})
        yield _workload(str(dataset), runs, times[times["batch_size"].isin(sizes)], sizes)


def _workload(name: str, runs: pd.DataFrame, times: pd.DataFrame, sizes: Sequence[int]) -> Workload:
    epochs = {size: _epochs_to_targets(runs[runs["batch_size"] == size]) for size in sizes}
    longest = int(max(table.max() for table in epochs.values()))
    space = ZeusConfig(
        power_limit=choice(*sorted(times["power_limit"].unique().tolist())),
        batch_size=choice(*sizes),
    )
    sweep = Sweep(
        TRACED,
        question="Which batch size and power limit reach the target first?",
        space=space,
        baseline=ZeusConfig(batch_size=sizes[len(sizes) // 2]),
        objectives=[minimize("time_to_accuracy_s")],
        target=REACHED,
        epochs=longest,
        search=Factored(),
        cores_per_trial=1,
    )
    columns = (times[name] for name in ("power_limit", "batch_size", "time_per_epoch"))
    epoch_s = {(watts, size): s for watts, size, s in zip(*columns, strict=True)}
    samples = SAMPLES[name]
    truth = Truth(
        name=name,
        sweep=sweep,
        timings={
            key: Timing(
                samples_per_s=samples / seconds, set_up_s=0.0, epoch_start_s=0.0, eval_s=0.0
            )
            for key, seconds in epoch_s.items()
        },
        curves={(size,): _curves(table, longest) for size, table in epochs.items()},
        samples=samples,
        log_spread=LOG_SPREAD,
    )
    means = {size: float(table[:, -1].mean()) for size, table in epochs.items()}
    to_target_s = {(size, watts): means[size] * s for (watts, size), s in epoch_s.items()}
    return Workload(truth=truth, to_target_s=to_target_s)


def _epochs_to_targets(runs: pd.DataFrame) -> np.ndarray:
    """Return the epochs that each run took to each target, (runs, targets), easiest first."""
    table = runs.pivot_table(index="run", columns="target_metric", values="target_epoch")
    whole = table.dropna().to_numpy()
    # The smallest error rate is the last to be reached.
    return np.sort(whole, axis=1)


def _curves(epochs: np.ndarray, longest: int) -> np.ndarray:
    """Return the share of the targets that each run has reached after each epoch."""
    after = np.arange(1, longest + 1)
    shares: np.ndarray = (epochs[:, None, :] <= after[None, :, None]).mean(axis=2)
    return REACHED * shares


def searched(workload: Workload, seed: int) -> dict[str, Any]:
    """Return share of the grid's cost and regret of one factored search, all stages counted."""
    truth = workload.truth
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        sweep = replace(truth.sweep, seed=seed)
        spent = play(sweep, Draws(truth, seed).draw, MACHINE, run_dir, source=truth.name)
        write_tables(run_dir)
        config = findings(load_run(run_dir)).config
    best = min(workload.to_target_s.values())
    took = workload.to_target_s[config["batch_size"], config["power_limit"]] if config else np.inf
    return {
        "workload": truth.name,
        "seed": seed,
        "share": spent.core_s / sum(workload.to_target_s.values()),
        "regret": took / best - 1,
    }


def table(traces: Path, seeds: int) -> Iterator[str]:
    """Search each workload ``seeds`` times; yield a row of each, as Markdown."""
    yield "| workload | configs | seeds | share of the grid | regret | the best was found |"
    yield "| --- | ---: | ---: | --- | --- | --- |"
    for workload in workloads(traces):
        own = [searched(workload, seed) for seed in range(seeds)]
        share, regret = (np.array([line[name] for line in own]) for name in ("share", "regret"))
        yield (
            f"| {workload.truth.name} | {len(workload.to_target_s)} | {len(own)} "
            f"| {np.median(share):.3f} (worst {share.max():.3f}) "
            f"| {np.median(regret):.3f} (worst {regret.max():.3f}) "
            f"| {int((regret < 1e-9).sum())} of {len(own)} |"
        )

"""Truths of the public traces of Pollux: three workloads on up to 16 GPUs.

A config is a placement, the GPUs on each node, a number of accumulated parts of a batch, and a
batch size. The traces have the seconds of a step by placement and samples a GPU, and the metric
after each epoch by batch size (Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for
Goodput-Optimized Deep Learning", OSDI 2021). Nothing of the search was tuned on these traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from benchmarks.search.truth import Timing, Truth
from orchestrator import Sweep, Trainable, both, choice, knobs, maximize, systems
from orchestrator.machine import Machine
from orchestrator.search import Factored

SAMPLES: Final[Mapping[str, int]] = {"cifar10": 50_000, "imagenet": 1_281_167, "yolov3": 16_551}
"""Training samples of each workload, which the traces do not have."""
PARTS: Final = (1, 2, 4)
LOG_SPREAD, SPREAD, SET_UP_S = 0.03, 0.001, 2.0
"""Spread of a speed and an accuracy from run to run, and of a process; the traces have none."""


@knobs
class PolluxConfig:
    """Knobs of the traces."""

    placement: int = systems(default=1, ge=1, doc="GPUs on each node, a digit a node")
    accumulated: int = systems(default=1, ge=1, doc="parts of a batch, one after another")
    batch_size: int = both(default=1, ge=1, doc="samples a step, over all GPUs")


def _train(config: PolluxConfig, run: object) -> None:
    """Do nothing: runs are drawn."""


TRACED: Final = Trainable(
    _train, PolluxConfig, reports=[maximize("val_acc")], name="pollux", keeps_checkpoints=True
)


def pollux(traces: Path, workload: str) -> Truth:
    """Return the truth of a workload: batches that fit in a placement, in parts or whole."""
    curves = _curves(traces / workload)
    steps = pd.read_csv(traces / workload / "placements.csv")
    rates = {
        (placement, parts, batch): rate
        for placement in steps["placement"].unique().tolist()
        for parts in PARTS
        for batch in curves
        if (rate := _samples_per_s(steps, placement, parts, batch)) is not None
    }

    def fits(config: PolluxConfig, machine: Machine) -> str | None:
        known = (config.placement, config.accumulated, config.batch_size) in rates
        return None if known else "the traces have no such part of a batch"

    def places(index: int) -> list[int]:
        return sorted({key[index] for key in rates})

    placement, parts, batch = min(rates, key=lambda key: (key[1], -key[0], key[2]))
    sweep = Sweep(
        TRACED,
        question="Which placement and batch size train fastest?",
        space=PolluxConfig(
            placement=choice(*places(0)),
            accumulated=choice(*places(1)),
            batch_size=choice(*places(2)),
        ),
        baseline=PolluxConfig(placement=placement, accumulated=parts, batch_size=batch),
        constraints=[fits],
        epochs=min(table.shape[1] for table in curves.values()),
        search=Factored(),
        cores_per_trial=1,
    )
    return Truth(
        name=f"pollux {workload}",
        sweep=sweep,
        timings={
            key: Timing(samples_per_s=rate, set_up_s=SET_UP_S, epoch_start_s=0.0, eval_s=0.0)
            for key, rate in rates.items()
        },
        curves={(batch,): table[:, : sweep.epochs] for batch, table in curves.items()},
        samples=SAMPLES[workload],
        log_spread=LOG_SPREAD,
        spread=SPREAD,
    )


def of_speed_alone(traces: Path) -> Truth:
    """Return the truth of cifar10 where nothing but the speed is looked for."""
    truth = pollux(traces, "cifar10")
    curves = {key: np.ones_like(curve) for key, curve in truth.curves.items()}
    sweep = replace(truth.sweep, objectives=[maximize("samples_per_s")])
    return replace(truth, name="pollux, speed alone", sweep=sweep, curves=curves, spread=0.0)


def _curves(folder: Path) -> dict[int, np.ndarray]:
    """Return the metric after each epoch by batch size, (1, epochs), the larger the better."""
    tables = {}
    for file in sorted(folder.glob("validation-*.csv")):
        metric = pd.read_csv(file)["metric"].to_numpy()
        batch = int(file.stem.partition("-")[2])
        # The traces of yolov3 have a loss in percent.
        tables[batch] = (1 - metric / 100 if metric.max() > 1 else metric)[None, :]
    return tables


def _samples_per_s(steps: pd.DataFrame, placement: int, parts: int, batch: int) -> float | None:
    """Return the speed of a batch in so many parts; None where the traces have no such part."""
    size = batch / parts / sum(map(int, str(placement)))
    known = steps[steps["placement"] == placement].sort_values("local_bsz")
    sizes = known["local_bsz"].to_numpy()
    if not sizes[0] <= size <= sizes[-1]:
        return None
    step_s = np.interp(size, sizes, known["step_time"].to_numpy())
    sync_s = np.interp(size, sizes, known["sync_time"].to_numpy())
    return float(batch / (step_s + (parts - 1) * (step_s - sync_s)))

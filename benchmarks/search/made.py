"""Tables from formulas: loaders and models that bound each other, curves by step size.

They judge budgets and compare searches. They prove nothing about real trainables.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.search.truth import Timing, Truth
from orchestrator import Sweep, Trainable, both, choice, knobs, learning, maximize, systems
from orchestrator.kernel.search import SearchSpec
from orchestrator.search import Factored

SAMPLES = 60_000
EPOCHS = 9
SEEDS = 8
WORKER_RATE, STEP_MS, SAMPLE_US = 2600.0, 1.6, 42.0


@knobs
class LoaderConfig:
    """Knobs of a made trainable."""

    num_workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch_factor: int = systems(
        default=2, ge=1, doc="batches ahead", applies=lambda config: config.num_workers > 0
    )
    pin_memory: bool = systems(default=False, doc="page-locked batches")
    amp: bool = both(default=False, doc="half precision")
    batch_size: int = both(default=256, ge=1, doc="samples a step")
    lr: float = learning(default=1e-2, gt=0, doc="step size")


def _train(config: LoaderConfig, run: object) -> None:
    """Do nothing: runs are drawn."""


MADE = Trainable(
    _train, LoaderConfig, reports=[maximize("val_acc")], name="made", keeps_checkpoints=True
)


def small(search: SearchSpec | None = None) -> Truth:
    """Return a truth of 200 combinations, 180 of them distinct."""
    space = LoaderConfig(
        num_workers=choice(0, 1, 2, 4, 8),
        prefetch_factor=choice(2, 4),
        batch_size=choice(128, 256, 512, 1024),
        lr=choice(1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    )
    return _truth("made, 180 configs", space, search)


def large(search: SearchSpec | None = None) -> Truth:
    """Return a truth of 2,160 combinations, 1,920 of them distinct."""
    space = LoaderConfig(
        num_workers=choice(0, 1, 2, 4, 6, 8),
        prefetch_factor=choice(2, 4, 8),
        pin_memory=choice(False, True),
        amp=choice(False, True),
        batch_size=choice(64, 128, 256, 512, 1024),
        lr=choice(1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1),
    )
    return _truth("made, 1,920 configs", space, search)


def _truth(name: str, space: LoaderConfig, search: SearchSpec | None) -> Truth:
    sweep = Sweep(
        MADE,
        question="What is fastest at equal accuracy?",
        space=space,
        epochs=EPOCHS,
        search=search or Factored(),
        cores_per_trial=1,
    )
    empty = Truth(name=name, sweep=sweep, timings={}, curves={}, samples=SAMPLES)
    timings, curves = {}, {}
    from orchestrator.search import Grid

    candidates = Grid().candidates(empty.problem)
    for key in candidates.keys:
        config = LoaderConfig(**candidates.config(key))
        timings[empty.speed_key(candidates.config(key))] = _timing(config)
        curves[empty.curve_key(candidates.config(key))] = _curves(config)
    return Truth(
        name=name, sweep=sweep, timings=timings, curves=curves, samples=SAMPLES, spread=0.0
    )


def _timing(config: LoaderConfig) -> Timing:
    """The slower of loader and model decides; workers beyond six get in each other's way."""
    step_s = (STEP_MS + (0.35 if config.amp else 0.0)) / 1000
    step_s += config.batch_size * SAMPLE_US * 1e-6 * (0.62 if config.amp else 1.0)
    step_s += config.batch_size * (4e-7 if config.pin_memory else 8e-7)
    model = config.batch_size / step_s
    if not config.num_workers:
        serial = 1 / (1 / model + 1 / WORKER_RATE)
        return Timing(samples_per_s=serial, set_up_s=2.0, epoch_start_s=0.02, eval_s=0.6)
    workers = min(config.num_workers, 6) - 0.12 * max(config.num_workers - 6, 0)
    ahead = 1 + 0.03 * math.log2(config.prefetch_factor)
    loader = WORKER_RATE * workers**0.9 * ahead
    smooth = (loader**-6 + model**-6) ** (-1 / 6)
    start_s = 0.08 + 0.05 * config.num_workers
    return Timing(samples_per_s=smooth, set_up_s=2.0, epoch_start_s=start_s, eval_s=0.6)


def _curves(config: LoaderConfig) -> np.ndarray:
    """Accuracies, (seeds, epochs): best at a step size that grows with the batch."""
    best = math.log10(0.02 * (config.batch_size / 256) ** 0.7)
    off = math.log10(config.lr) - best
    height = 0.985 - 0.012 * off**2 - 0.002 * math.log2(config.batch_size / 64)
    height -= 0.001 if config.amp else 0.0
    rate = 0.9 * 10 ** (0.25 * min(off, 0.6))
    seeds = np.random.default_rng([config.batch_size, round(-1000 * math.log10(config.lr))])
    epochs = np.arange(1, EPOCHS + 1)
    final = height + 0.0012 * seeds.standard_normal((SEEDS, 1))
    wobble = 0.001 * seeds.standard_normal((SEEDS, EPOCHS))
    accuracies: np.ndarray = np.clip(
        final - 0.6 * np.exp(-rate * epochs)[None, :] + wobble, 0.0, 1.0
    )
    return accuracies

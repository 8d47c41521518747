"""Rows of a factored search: probes of settings, and curves of learning combinations."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.analysis.composition.compose import compose
from orchestrator.metrics import Objective, maximize
from orchestrator.space.knob import Role

ROLES = {"workers": Role.SYSTEMS, "batch": Role.BOTH, "lr": Role.LEARNING}
OBJECTIVES: Sequence[Objective] = (maximize("samples_per_s"), maximize("val_acc"))
EPOCHS, SAMPLES = 9, 9000
"""Epochs of a whole training, and the samples of all of them."""

Config = Mapping[str, Any]


def speed_of(c: Config) -> float:
    """Return samples a second: a matter of the workers and the batch."""
    return 1000.0 * c["batch"] ** 0.5 * (1 + c["workers"]) ** 0.3


def accuracy_of(c: Config) -> float:
    """Return validation accuracy: a matter of the batch and the learning rate."""
    return 0.95 - 0.01 * math.log(c["lr"] / 0.1) ** 2 - 0.002 * c["batch"]


def grid(
    workers: Sequence[int] = (0, 1, 2),
    batches: Sequence[int] = (1, 2),
    rates: Sequence[float] = (0.1, 0.2),
) -> list[dict[str, Any]]:
    product = itertools.product(workers, batches, rates)
    return [{"workers": w, "batch": b, "lr": r} for w, b, r in product]


def candidates(configs: Sequence[Config]) -> pd.DataFrame:
    return pd.DataFrame([{f"params.{n}": v for n, v in c.items()} for c in configs])


class Factory:
    """Makes the rows; the noise is drawn from a fixed seed."""

    def __init__(self, seed: int = 0, speed_noise: float = 0.0, seed_noise: float = 0.0) -> None:
        self._rng = np.random.default_rng(seed)
        self._noise = (speed_noise, seed_noise)
        self.rows: list[dict[str, Any]] = []
        self.reports: list[dict[str, Any]] = []

    def probe(self, c: Config, repeat: int = 0, **cells: object) -> dict[str, Any]:
        """Add a probe, which ends early: its times are wrong for whole trainings."""
        totals = {"metrics.train_s": 0.5, "metrics.epoch_s": math.nan, "wall_s": 1.0}
        speed = {"metrics.samples_per_s": self._speed(c), "metrics.epoch_start_s": 0.1}
        return self._add("probe", c, repeat, **{**totals, **speed, **cells})

    def train(
        self, c: Config, seed: int = 0, *, epochs: int = EPOCHS, **cells: object
    ) -> dict[str, Any]:
        """Add a training, paused where it has fewer than all epochs."""
        speed, samples = self._speed(c), SAMPLES / EPOCHS
        epoch_s = 0.1 + samples / speed
        accuracy = accuracy_of(c) + self._noise[1] * self._rng.standard_normal()
        row = self._add(
            "train",
            c,
            seed,
            state="completed" if epochs == EPOCHS else "stopped",
            wall_s=3.0 + epochs * (epoch_s + 0.5),
            **{
                "metrics.samples_per_s": speed,
                "metrics.epoch_start_s": 0.1,
                "metrics.val_acc": accuracy - 0.01 * (EPOCHS - epochs),
                "metrics.epochs": float(epochs),
                "metrics.epoch_s": epoch_s,
                "metrics.train_s": epochs * epoch_s,
                "metrics.eval_s": 0.5 * epochs,
            },
        )
        row |= cells
        for epoch in range(1, epochs + 1):
            place = {"step": 10 * epoch, "epoch": epoch, "samples": int(samples * epoch)}
            figures = {
                "elapsed_s": 3.0 + epoch * (epoch_s + 0.5),
                "metrics.train_s": epoch * epoch_s,
                "metrics.val_acc": accuracy - 0.01 * (EPOCHS - epoch),
            }
            self.reports.append({"trial_id": row["trial_id"], **place, **figures})
        return row

    def factored(self, configs: Sequence[Config], *, probes: int = 1, seeds: int = 1) -> "Factory":
        """Probe each setting at the first learning rate, train each combination without workers."""
        for c in _first_of(configs, ("workers", "batch")):
            for repeat in range(probes):
                self.probe(c, repeat)
        for c in _first_of(configs, ("batch", "lr")):
            for seed in range(seeds):
                self.train(c, seed)
        return self

    @property
    def trials(self) -> pd.DataFrame:
        return pd.DataFrame(self.rows)

    @property
    def curves(self) -> pd.DataFrame:
        columns = ["trial_id", "step", "epoch", "samples", "elapsed_s"]
        return pd.DataFrame(self.reports, columns=None if self.reports else columns)

    def _speed(self, c: Config) -> float:
        return speed_of(c) * math.exp(self._noise[0] * self._rng.standard_normal())

    def _add(self, stage: str, c: Config, repeat: int, **cells: object) -> dict[str, Any]:
        number = f"{len(self.rows):03d}"
        row: dict[str, Any] = {
            "trial_id": f"{stage[0]}{number}",
            "stage": stage,
            "state": "completed",
            "seed": repeat,
            "repeat": repeat,
            "isolation": "exclusive",
            "group": "all",
            "curve": f"curve {number}",
            **{f"params.{name}": value for name, value in c.items()},
            **cells,
        }
        self.rows.append(row)
        return row


def _first_of(configs: Sequence[Config], names: Sequence[str]) -> Iterator[Config]:
    seen = set()
    for c in configs:
        if (key := tuple(c[name] for name in names)) not in seen:
            seen.add(key)
            yield c


SPEED, ACCURACY = "metrics.samples_per_s", "metrics.val_acc"


def composed(factory: Factory, configs: list[dict[str, Any]], **changes: object) -> pd.DataFrame:
    arguments = {"candidates": candidates(configs), "roles": ROLES, "objectives": OBJECTIVES}
    return compose(factory.trials, factory.curves, **{**arguments, **changes})  # type: ignore


def row_of(table: pd.DataFrame, **values: object) -> dict[Any, Any]:
    same = np.logical_and.reduce([table[f"params.{n}"] == v for n, v in values.items()])
    (row,) = table[same].to_dict("records")
    return row

"""Speeds of worker counts that were not tried, composed from what trials measured in themselves.

A trial measures its loader drained alone and its model over batches that are there already.
Time per sample with ``w`` workers on ``K`` cores is then at least each of

    loader / w          the workers share the loader's work
    compute             the model takes its batches one after the other
    work / K            no work is done without a core to do it on

and the largest of the three bounds the speed; without workers the two are done in turn, loader +
compute. ``loader`` is the work of one sample in one process: what the loader alone took, times
the workers (or cores, where these are fewer) that shared it. ``work`` is the CPU time that a
sample took over all processes, waiting in a busy loop included; without it loader + compute on
all cores. Where a config was clearly slower than its own loader and model allow, workers and model
held each other up, and the time that a sample took stands for work / K. Work that is shared
differently costs differently, so that loader and work are taken from the nearest worker counts
that were tried: the next smaller and the next larger one.

How many batches are fetched ahead does not change these bounds, only how well bursts are evened
out; a prediction holds for any number of them.

A figure made so is composed, never measured, and says how far it was off where it could be
compared: each worker count that was tried is predicted from the others alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.columns import Config, as_plain, config_of
from analysis.wording import counted, percent
from orchestrator.knobs import Role

WORKERS: Final = "num_workers"
FREE: Final = (WORKERS, "prefetch_factor", "persistent_workers")
"""Knobs that the bounds hold for any value of, once epochs have begun."""

LOADER: Final = "metrics.loader_only_samples_per_s"
COMPUTE: Final = "metrics.compute_only_samples_per_s"
SPEED: Final = "metrics.samples_per_s"
CPU: Final = "metrics.cpu_util"

CLEARLY: Final = 0.15
"""A config that is slower by so much than its bounds allow is held up by something else."""

PROMISED_ERROR: Final = 0.15
"""A median error that is larger is said to be too large to go by."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What one config measured, its runs averaged.

    Attributes:
        workers: Its loader processes.
        cores: Its cores.
        speed: Samples a second.
        loader_speed: The same of its loader alone.
        compute_speed: The same of its model alone.
        cpu_s: CPU seconds that a sample took, over all processes; NaN where not measured.
    """

    workers: int
    cores: int
    speed: float
    loader_speed: float
    compute_speed: float
    cpu_s: float

    @property
    def loader_s(self) -> float:
        """Work of the loader for one sample, in seconds of one process."""
        return max(min(self.workers, self.cores), 1) / self.loader_speed

    @property
    def shared_s(self) -> float:
        """What sharing its cores allows for one sample, in seconds; NaN where not known."""
        if self.workers:
            allowed = max(self.loader_s / self.workers, 1 / self.compute_speed)
            if 1 / self.speed > (1 + CLEARLY) * allowed:
                return 1 / self.speed
        return self.cpu_s / self.cores


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """A speed that was composed.

    Attributes:
        config: What it is the speed of.
        speed: Samples a second.
        tried: What was measured where the config was tried after all; None where not.
    """

    config: Config
    speed: float
    tried: float | None = None

    @property
    def error(self) -> float | None:
        """How far off it is, relative to what was measured."""
        return None if self.tried is None else self.speed / self.tried - 1


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Composed speeds of a run.

    Attributes:
        untried: Of worker counts that were not tried, the fastest first.
        checked: Of those that were, each predicted without its own trials.
    """

    untried: tuple[Predicted, ...]
    checked: tuple[Predicted, ...]

    @property
    def median_error(self) -> float | None:
        """Median of the absolute errors; None where nothing could be checked."""
        errors = [abs(one.error) for one in self.checked if one.error is not None]
        return median(errors) if errors else None

    @property
    def text(self) -> str:
        """What they are and how far to trust them, in a sentence."""
        error = self.median_error
        if error is None:
            return "composed from the ceilings, not measured, and not checked: too few were tried"
        kept = "" if error <= PROMISED_ERROR else ", too much to go by"
        return (
            "composed from the ceilings, not measured; where "
            f"{counted(len(self.checked), 'config')} that ran were predicted from the others, the "
            f"median error was {percent(error)}{kept}"
        )


def predictions(configs: pd.DataFrame, sweep: Mapping[str, Any]) -> Predictions | None:
    """Composes speeds of worker counts from none to all cores, and checks them.

    Args:
        configs: From :func:`~analysis.configs.by_config`, of one group and stage.
        sweep: What ``sweep.json`` holds.

    Returns:
        None where no config has both ceilings, or the trainable has no ``num_workers``.
    """
    needed = {SPEED, LOADER, COMPUTE, "cores"}
    if WORKERS not in sweep["knobs"] or not needed <= set(configs.columns):
        return None
    known = configs.dropna(subset=sorted(needed))
    families: dict[Hashable, list[tuple[Config, Tried]]] = {}
    for row in known.to_dict("records"):
        config = config_of(row, sweep)
        families.setdefault(_family(config, sweep), []).append((config, _tried(row, config)))
    if not families:
        return None
    untried = [one for family in families.values() for one in _untried(family)]
    checked = [one for family in families.values() for one in _checked(family)]
    return Predictions(
        untried=tuple(sorted(untried, key=lambda one: -one.speed)), checked=tuple(checked)
    )


def composed_speed(workers: int, tried: Iterable[Tried]) -> float:
    """The speed with so many workers, from trials with other counts; see the module."""
    known = list(tried)
    near = _nearest(workers, known)
    loader_s = fmean(median(one.loader_s for one in side) for side in near)
    compute_s = 1 / median(one.compute_speed for one in known)
    if workers == 0:
        return 1 / (loader_s + compute_s)
    cores = min(one.cores for one in known)
    measured = [[one.shared_s for one in side if np.isfinite(one.shared_s)] for side in near]
    shared = [median(side) for side in measured if side]
    shared_s = fmean(shared) if shared else loader_s / cores + compute_s
    return 1 / max(loader_s / workers, compute_s, shared_s)


def _nearest(workers: int, known: Sequence[Tried]) -> list[list[Tried]]:
    """Trials with the next smaller and the next larger count of workers, or with the same.

    A loader in the training process is another kind: it stands in only where there is no other.
    """
    kin = [one for one in known if (one.workers == 0) == (workers == 0)] or known
    counts = {one.workers for one in kin}
    below = max((count for count in counts if count <= workers), default=None)
    above = min((count for count in counts if count >= workers), default=None)
    sides = {below, above} - {None}
    return [[one for one in kin if one.workers == count] for count in sorted(sides, key=str)]


def _family(config: Config, sweep: Mapping[str, Any]) -> Hashable:
    """Configs that differ in nothing that a step's time depends on but :data:`FREE`."""
    knobs = sweep["knobs"]
    return tuple(
        as_plain(value)
        for name, value in config.items()
        if name not in FREE and knobs[name].get("role") != str(Role.LEARNING)
    )


def _tried(row: Mapping[Any, Any], config: Config) -> Tried:
    cores, speed = int(row["cores"]), float(row[SPEED])
    busy = row.get(CPU, np.nan)
    return Tried(
        workers=int(config[WORKERS]),
        cores=cores,
        speed=speed,
        loader_speed=float(row[LOADER]),
        compute_speed=float(row[COMPUTE]),
        cpu_s=float(busy) * cores / speed,
    )


def _untried(family: list[tuple[Config, Tried]]) -> list[Predicted]:
    """Worker counts up to the cores that no config of the family has."""
    config, first = family[0]
    had = {tried.workers for _, tried in family}
    return [
        Predicted(
            config={**config, WORKERS: workers},
            speed=composed_speed(workers, [tried for _, tried in family]),
        )
        for workers in range(first.cores + 1)
        if workers not in had
    ]


def _checked(family: list[tuple[Config, Tried]]) -> list[Predicted]:
    """Each worker count that was tried, from the others alone."""
    found = []
    for config, tried in family:
        others = [other for _, other in family if other.workers != tried.workers]
        if others:
            speed = composed_speed(tried.workers, others)
            found.append(Predicted(config=config, speed=speed, tried=tried.speed))
    return found

"""Speeds of worker counts and ways to prefetch that a sweep did not try.

Each is composed of what the configs of a family, those that differ in nothing else, measured in
themselves: see :mod:`analysis.bottlenecks.bounds`. A figure made so is never called measured, and
says how far it was off where it could be compared: each setting that was tried is predicted from
the others: from other worker counts alone, from other ways to prefetch alone, and from other
numbers of batches fetched ahead alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.bottlenecks.bounds import Tried, can_tell, composed_speed
from analysis.columns import Config, as_plain, config_of, text_of
from analysis.wording import counted, percent
from orchestrator.space.declare import Role

WORKERS: Final = "num_workers"
PREFETCH: Final = "prefetch"
AHEAD_OF: Final = "prefetch_factor"
PERSISTENT: Final = "persistent_workers"
FREE: Final = (WORKERS, PREFETCH, AHEAD_OF, PERSISTENT)
"""Knobs that the bounds hold for any value of, once epochs have begun."""

LOADER: Final = "metrics.loader_only_samples_per_s"
COMPUTE: Final = "metrics.compute_only_samples_per_s"
SPEED: Final = "metrics.samples_per_s"
CPU: Final = "metrics.cpu_util"
STEP: Final = "metrics.step_ms"
IN_STEP: Final = "metrics.transfer_ms"
AHEAD: Final = "metrics.copy_ms"
IDLE: Final = "tags.idle"

EPOCH: Final = "metrics.epoch_s"
SHORT_EPOCH_S: Final = 2.0
"""Workers that are started anew in each epoch take a tenth of a second and more for it: of shorter
epochs that is part of what decides the speed, and in no ceiling."""

PROMISED_ERROR: Final = 0.15
"""A median error that is larger is said to be too large to go by."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A config and what it measured.

    Attributes:
        config: The config.
        tried: Its figures.
        idle: Knobs that mean nothing in it.
        is_on_gpu: Whether it ran on one.
        starts_tell: Whether starting workers anew is a part of its epochs that counts.
    """

    config: Config
    tried: Tried
    idle: frozenset[str]
    is_on_gpu: bool
    starts_tell: bool


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
        untried: Of settings that were not tried, the fastest first.
        checked: Of those that were, each predicted without its own trials: from other worker
            counts, from other ways to prefetch with as many workers, and from other numbers of
            batches fetched ahead in the same way.
    """

    untried: tuple[Predicted, ...]
    checked: tuple[Predicted, ...]

    @property
    def median_error(self) -> float | None:
        """Median of the absolute errors; None where nothing could be checked."""
        errors = [abs(one.error) for one in self.checked if one.error is not None]
        return median(errors) if errors else None

    @property
    def num_checked(self) -> int:
        """Configs among those that were checked: one may be so in two ways."""
        return len({tuple(one.config.items()) for one in self.checked})

    @property
    def text(self) -> str:
        """What they are and how far to trust them, in a sentence."""
        error = self.median_error
        if error is None:
            return "composed from the ceilings, not measured, and not checked: too few were tried"
        kept = "" if error <= PROMISED_ERROR else ", too much to go by"
        return (
            "composed from the ceilings, not measured; where "
            f"{counted(self.num_checked, 'config')} that ran were predicted from the others, the "
            f"median error was {percent(error)}{kept}"
        )


def predictions(configs: pd.DataFrame, sweep: Mapping[str, Any]) -> Predictions | None:
    """Composes speeds of worker counts from none to all cores, prefetched or not, and checks them.

    Args:
        configs: From :func:`~analysis.statistics.by_config.by_config`, of one group and stage.
        sweep: What ``sweep.json`` holds.

    Returns:
        None where no config has both ceilings, or the trainable has no ``num_workers``.
    """
    needed = {SPEED, LOADER, COMPUTE, "cores"}
    if WORKERS not in sweep["knobs"] or not needed <= set(configs.columns):
        return None
    known = configs.dropna(subset=sorted(needed))
    families: dict[Hashable, list[Measured]] = {}
    for row in known.to_dict("records"):
        one = _measured(row, sweep)
        families.setdefault(_family(one, sweep), []).append(one)
    if not families:
        return None
    untried = [one for family in families.values() for one in _untried(family)]
    checked = [one for family in families.values() for one in _checked(family)]
    return Predictions(
        untried=tuple(sorted(untried, key=lambda one: -one.speed)), checked=tuple(checked)
    )


def _measured(row: Mapping[Any, Any], sweep: Mapping[str, Any]) -> Measured:
    config = config_of(row, sweep)
    return Measured(
        config=config,
        tried=_tried(row, config),
        idle=frozenset(text_of(row.get(IDLE)).split(", ")),
        is_on_gpu=text_of(row.get("device")) not in ("", "cpu"),
        starts_tell=config.get(PERSISTENT) is False and row.get(EPOCH, np.inf) < SHORT_EPOCH_S,
    )


def _family(one: Measured, sweep: Mapping[str, Any]) -> Hashable:
    """Configs that differ in nothing that a step's time depends on but :data:`FREE`."""
    knobs = sweep["knobs"]
    return tuple(
        as_plain(value)
        for name, value in one.config.items()
        if name not in FREE and knobs[name].get("role") != str(Role.LEARNING)
    )


def _tried(row: Mapping[Any, Any], config: Config) -> Tried:
    cores, speed = int(row["cores"]), float(row[SPEED])
    busy, prefetch = row.get(CPU, np.nan), str(config.get(PREFETCH, "off"))
    copied = row.get(IN_STEP if prefetch == "off" else AHEAD, np.nan) / row.get(STEP, np.nan)
    return Tried(
        workers=int(config[WORKERS]),
        prefetch=prefetch,
        cores=cores,
        speed=speed,
        loader_speed=float(row[LOADER]),
        compute_speed=float(row[COMPUTE]),
        cpu_s=float(busy) * cores / speed,
        copy_s=0.0 if np.isnan(copied) else float(copied) / speed,
    )


def _untried(family: list[Measured]) -> list[Predicted]:
    """Worker counts up to the cores, and ways to prefetch, that no config of the family has."""
    first = family[0]
    had = {(one.tried.workers, one.tried.prefetch) for one in family}
    counts = [first.tried.workers] if WORKERS in first.idle else range(first.tried.cores + 1)
    if any(one.starts_tell for one in family):
        counts = [0]
    tried = [one.tried for one in family]
    return [
        Predicted(
            config=_with(first.config, workers, prefetch),
            speed=composed_speed(workers, tried, prefetch=prefetch),
        )
        for workers in counts
        for prefetch in _ways(first)
        if (workers, prefetch) not in had and can_tell(workers, tried)
    ]


def _ways(one: Measured) -> list[str]:
    """Ways to prefetch that a config of this family may have."""
    # Copying without waiting is another answer to the same question, and goes without it.
    if PREFETCH not in one.config or PREFETCH in one.idle or one.config.get("non_blocking"):
        return [one.tried.prefetch]
    can_stream = one.is_on_gpu and one.config.get("pin_memory")
    return ["off", "thread", *(["stream"] if can_stream else [])]


def _with(config: Config, workers: int, prefetch: str) -> Config:
    return {**config, WORKERS: workers, **({PREFETCH: prefetch} if PREFETCH in config else {})}


def _checked(family: list[Measured]) -> list[Predicted]:
    """Each setting that was tried: from others that differ in one respect alone."""
    found = []
    told = [one for one in family if not (one.starts_tell and one.tried.workers)]
    for one in told:
        workers, prefetch = one.tried.workers, one.tried.prefetch
        as_many = [other for other in told if other.tried.workers == workers]
        same_way = [other for other in as_many if other.tried.prefetch == prefetch]
        for others in (
            [other for other in told if other not in as_many],
            [other for other in as_many if other not in same_way],
            [other for other in same_way if other.config.get(AHEAD_OF) != one.config.get(AHEAD_OF)],
        ):
            known = [other.tried for other in others]
            if known and can_tell(workers, known):
                speed = composed_speed(workers, known, prefetch=prefetch)
                found.append(Predicted(config=one.config, speed=speed, tried=one.tried.speed))
    return found

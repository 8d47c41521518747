"""Speeds of worker counts and ways to prefetch that a sweep did not try.

Each is composed (:mod:`orchestrator.analysis.bottlenecks.bounds`) of the figures of a family:
configs that differ in the loader's settings alone. Each setting that was tried is predicted as
well, from other worker counts alone, from other ways to prefetch alone, and from other numbers of
batches fetched ahead alone. The errors of these say how far to trust the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.bottlenecks.bounds import Tried, can_compose, composed_speed
from orchestrator.analysis.bottlenecks.gains import COMPUTE, LOADER, SPEED
from orchestrator.analysis.columns import Config, as_plain, config_of, text_of
from orchestrator.space.knob import Role
from orchestrator.storage.sweep_record import SweepRecord

WORKERS: Final = "num_workers"
PREFETCH: Final = "prefetch"
PREFETCH_FACTOR: Final = "prefetch_factor"
PERSISTENT: Final = "persistent_workers"
FREE: Final = (WORKERS, PREFETCH, PREFETCH_FACTOR, PERSISTENT)
"""Knobs that may differ within a family."""

SHORT_EPOCH_S: Final = 2.0
"""Workers that are started anew in each epoch take a tenth of a second and more for it: a part of
shorter epochs that counts, and is in no ceiling."""


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """A speed that was composed.

    Attributes:
        config: The config with this speed.
        speed: Samples a second.
        measured: The measured speed where the config was tried; None where not.
    """

    config: Config
    speed: float
    measured: float | None = None

    @property
    def error(self) -> float | None:
        """Error relative to the measured speed; None where there is none."""
        return None if self.measured is None else self.speed / self.measured - 1


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Composed speeds of a run.

    Attributes:
        untried: Speeds of settings that were not tried, the fastest first.
        checked: Speeds of settings that were, each predicted without its own trials.
    """

    untried: tuple[Predicted, ...]
    checked: tuple[Predicted, ...]

    @property
    def median_error(self) -> float | None:
        """Median of the absolute errors; None where nothing could be checked."""
        errors = [abs(predicted.error) for predicted in self.checked if predicted.error is not None]
        return median(errors) if errors else None

    @property
    def num_checked(self) -> int:
        """Number of configs that were checked: one may be so in several ways."""
        return len({tuple(predicted.config.items()) for predicted in self.checked})


def predictions(configs: pd.DataFrame, sweep: SweepRecord) -> Predictions | None:
    """Compose speeds of worker counts from none to all cores, prefetched or not, and check them.

    Args:
        configs: From :func:`~orchestrator.analysis.statistics.by_config.by_config`, of one group
        and stage.
        sweep: The sweep that was run.

    Returns:
        None where no config has both ceilings, or the trainable has no ``num_workers``.
    """
    needed = [SPEED, LOADER, COMPUTE, "cores"]
    if WORKERS not in sweep.knobs or not {*needed} <= {*configs.columns}:
        return None
    families: dict[Hashable, list[_Measured]] = {}
    for row in configs.dropna(subset=needed).to_dict("records"):
        member = _measured(row, sweep)
        families.setdefault(_family(member.config, sweep), []).append(member)
    if not families:
        return None
    untried = [predicted for family in families.values() for predicted in _untried(family)]
    checked = [predicted for family in families.values() for predicted in _checked(family)]
    return Predictions(
        untried=tuple(sorted(untried, key=lambda predicted: -predicted.speed)),
        checked=tuple(checked),
    )


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """A config with its figures.

    Attributes:
        config: The config.
        tried: Its figures.
        idle: Knobs that mean nothing in it.
        is_on_gpu: True where it ran on one.
        has_starts: True where starting workers anew is a part of its epochs that counts.
    """

    config: Config
    tried: Tried
    idle: frozenset[str]
    is_on_gpu: bool
    has_starts: bool


def _measured(row: Mapping[Any, Any], sweep: SweepRecord) -> _Measured:
    config = config_of(row, sweep)
    return _Measured(
        config=config,
        tried=_tried(row, config),
        idle=frozenset(text_of(row.get("tags.idle")).split(", ")),
        is_on_gpu=text_of(row.get("device")) not in ("", "cpu"),
        has_starts=config.get(PERSISTENT) is False
        and row.get("metrics.epoch_s", np.inf) < SHORT_EPOCH_S,
    )


def _tried(row: Mapping[Any, Any], config: Config) -> Tried:
    cores, speed, prefetch = int(row["cores"]), row[SPEED], str(config.get(PREFETCH, "off"))
    copy_ms = row.get(f"metrics.{'transfer' if prefetch == 'off' else 'copy'}_ms", np.nan)
    copied = copy_ms / row.get("metrics.step_ms", np.nan)
    return Tried(
        workers=int(config[WORKERS]),
        prefetch=prefetch,
        cores=cores,
        speed=speed,
        loader_speed=row[LOADER],
        compute_speed=row[COMPUTE],
        cpu_s=row.get("metrics.cpu_util", np.nan) * cores / speed,
        copy_s=0.0 if np.isnan(copied) else copied / speed,
    )


def _family(config: Config, sweep: SweepRecord) -> Hashable:
    """Return the values that the time of a step depends on, but for those of :data:`FREE`."""
    return tuple(
        as_plain(value)
        for name, value in config.items()
        if name not in FREE and sweep.knobs[name].role != Role.LEARNING
    )


def _untried(family: Sequence[_Measured]) -> list[Predicted]:
    """Predict worker counts up to the cores, and ways to prefetch, that the family lacks."""
    first, tried = family[0], [member.tried for member in family]
    measured = {(member.workers, member.prefetch) for member in tried}
    counts = [first.tried.workers] if WORKERS in first.idle else range(first.tried.cores + 1)
    if any(member.has_starts for member in family):
        counts = [0]
    return [
        Predicted(
            config=_with(first.config, workers, prefetch),
            speed=composed_speed(workers, tried, prefetch=prefetch),
        )
        for workers in counts
        for prefetch in _ways(first)
        if (workers, prefetch) not in measured and can_compose(workers, tried)
    ]


def _ways(member: _Measured) -> list[str]:
    """Return the ways to prefetch that a config of this family may have."""
    # Copying without waiting is another answer to the same question, and excludes prefetching.
    if (
        PREFETCH not in member.config
        or PREFETCH in member.idle
        or member.config.get("non_blocking")
    ):
        return [member.tried.prefetch]
    can_stream = member.is_on_gpu and member.config.get("pin_memory")
    return ["off", "thread", *(["stream"] if can_stream else [])]


def _with(config: Config, workers: int, prefetch: str) -> Config:
    return {**config, WORKERS: workers, **({PREFETCH: prefetch} if PREFETCH in config else {})}


def _checked(family: Sequence[_Measured]) -> list[Predicted]:
    """Predict each setting that was tried from others that differ in one respect alone."""
    usable = [member for member in family if not (member.has_starts and member.tried.workers)]
    return [
        Predicted(
            config=member.config,
            speed=composed_speed(member.tried.workers, tried, prefetch=member.tried.prefetch),
            measured=member.tried.speed,
        )
        for member in usable
        for tried in _others(member, usable)
        if tried and can_compose(member.tried.workers, tried)
    ]


def _others(member: _Measured, family: Sequence[_Measured]) -> list[list[Tried]]:
    """Return those that differ in workers, in the way to prefetch, or in batches ahead alone."""

    def free_knobs(other: _Measured) -> tuple[object, ...]:
        return other.tried.workers, other.tried.prefetch, other.config.get(PREFETCH_FACTOR)

    own = free_knobs(member)
    return [
        [o.tried for o in family if free_knobs(o)[:i] == own[:i] and free_knobs(o)[i] != own[i]]
        for i in range(len(own))
    ]

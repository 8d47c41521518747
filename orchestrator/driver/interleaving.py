"""Interleaving: which runs of a confirm round may share cores and a GPU in time slices."""

import math
from collections.abc import Sequence
from typing import Any

from orchestrator.machine import Machine
from orchestrator.search.stages.judge import Config, Results
from orchestrator.space.configs import built
from orchestrator.storage.sweep_record import Capacity
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import TrialState


def may_interleave(
    sweep: Sweep[Any],
    machine: Machine,
    capacity: Capacity,
    configs: Sequence[Config],
    results: Results,
) -> bool:
    """Return True if trials of these configs may share cores and a GPU in time slices.

    Each must be one process, all with as many whole GPUs. Together they must fit into the memory,
    since the stopped ones keep theirs; the peak of their trials so far counts. Once an interleaved
    trial did not complete, no more are interleaved: it may need a lock or a port of another one.
    """
    has_worked = all(
        result.state is TrialState.COMPLETED for trial, result in results if trial.interleaved
    )
    made = (built(sweep.trainable.config, config) for config in configs)
    demands = [sweep.trainable.demand_of(config, machine) for config in made]
    room = {"peak_rss_gib": capacity.interleaved_gib}
    if demands[0].gpus:
        room["gpu_memory_gib"] = capacity.interleaved_gpu_gib
    fit = all(
        sum(_peak(name, config, results) for config in configs) <= most
        for name, most in room.items()
    )
    alike = all(d.ranks == 1 and d.gpus == demands[0].gpus and not d.shares_gpu for d in demands)
    return has_worked and fit and alike


def _peak(metric: str, config: Config, results: Results) -> float:
    """Return the most that trials of ``config`` have of a metric; infinite without one."""
    peaks = (
        result.metrics.get(metric, 0.0)
        for trial, result in results
        if dict(trial.config) == dict(config)
    )
    return max(peaks, default=0.0) or math.inf

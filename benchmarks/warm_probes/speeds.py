"""Speeds of probes forked from a warm server, beside those of servers started for them alone."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from orchestrator.data import DataFolders
from orchestrator.execution.base import Launch, Source
from orchestrator.execution.interleaving import Interleaving
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.placement import local_machine
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.space.configs import values_of
from orchestrator.trainable import Trainable
from orchestrator.trial import Budget, Isolation, Stage, Trial, TrialResult, TrialState
from trainables.data.formats.arrays import Array


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A config that is probed.

    Attributes:
        trainable: Its trainable, which its module has under its own name.
        config: The config.
        data: Name of the data set.
        folders: Where it lies.
        steps: Steps of a probe.
    """

    trainable: Trainable[Any]
    config: object
    data: str
    folders: DataFolders
    steps: int

    def launch(self, name: str, seed: int, scratch: Path, preload: Sequence[str]) -> Launch:
        """Return one of two interleaved probes."""
        trial = Trial(
            id=name,
            stage=Stage.PROBE,
            config=values_of(self.config),
            budget=Budget(epochs=1000, steps=self.steps, evaluated=False),
            seed=seed,
            interleaved=True,
        )
        return Launch(
            trial=trial,
            source=Source(module=self.trainable.train.__module__, attribute=self.trainable.name),
            demand=self.trainable.demand_of(self.config, local_machine()),
            num_cores=1,
            isolation=Isolation.LEASED,
            data=self.data,
            folders=self.folders,
            preload=tuple(preload),
            time_limit_s=None,
            retries=0,
            scratch=scratch,
            rerun_contaminated=False,
            interleaved=True,
        )


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """Speeds of warm and fresh probes, pair by pair.

    Attributes:
        warm: Samples a second.
        fresh: Samples a second.
    """

    warm: Sequence[float]
    fresh: Sequence[float]

    @property
    def logs(self) -> Array:
        """Logarithm of warm over fresh, pair by pair."""
        logs: Array = np.log(np.asarray(self.warm) / np.asarray(self.fresh))
        return logs

    @property
    def mean(self) -> float:
        """Mean of :attr:`logs`."""
        return float(self.logs.mean())

    def row(self, what: str, margin: float) -> str:
        """Return a row of the table: the mean ratio with its interval, and the spread of a pair."""
        logs, mean = self.logs, self.mean
        spread = float(logs.std(ddof=1))
        half = float(stats.t.ppf(0.975, len(logs) - 1)) * spread / math.sqrt(len(logs))
        verdict = "within" if abs(mean) <= margin else "beyond"
        return (
            f"| {what} | {np.median(self.warm):,.0f} /s | {np.median(self.fresh):,.0f} /s | "
            f"{math.exp(mean):.4f} ({verdict} {margin:.0%}) | {math.exp(mean - half):.4f} to "
            f"{math.exp(mean + half):.4f} | {spread:.1%} | {len(logs)} |"
        )


def compare(subject: Subject, num_pairs: int) -> Speeds:
    """Run pairs of a warm and a fresh probe of the same seed, interleaved on the same core.

    The warm ones are forked from one server, as in a sweep. A fresh one is forked from a server
    that was started for it alone and has not imported the trainable.
    """
    speeds: dict[str, list[float]] = {"warm": [], "fresh": []}
    warm = ForkServers()
    try:
        for index in range(num_pairs + 1):
            fresh = ForkServers()
            try:
                found = _pair(subject, index, {"warm": warm, "fresh": fresh})
            finally:
                fresh.close()
            for kind in speeds if index else ():  # the first pair fills the caches of the disk
                speeds[kind].append(found[kind])
    finally:
        warm.close()
    return Speeds(**speeds)


def _pair(subject: Subject, index: int, servers: Mapping[str, ForkServers]) -> dict[str, float]:
    """Return the speed of each kind; every other pair begins with the fresh one."""
    preloads = {"warm": subject.trainable.imports, "fresh": ()}
    kinds = list(servers) if index % 2 else list(servers)[::-1]
    with tempfile.TemporaryDirectory() as folder:
        first, second = (
            subject.launch(f"{kind}-{index}", index, Path(folder), preloads[kind]) for kind in kinds
        )
        sockets = {
            launch.trial.id: servers[kind].socket_for(launch.demand.allocator, launch.preload)
            for kind, launch in zip(kinds, (first, second), strict=True)
        }
        for socket in sockets.values():
            _wait_for(socket)
        leases = CoreLeases()
        running = Interleaving(
            replace(first, others=(second,)),
            leases,
            lambda each: Supervisor(each, lambda: sockets[each.trial.id], leases=leases),
        )
        try:
            while not running.acquire_cores(timeout_s=60):
                pass
            results = _results(running)
        finally:
            running.close()
    return {
        trial_id.partition("-")[0]: result.metrics["samples_per_s"]
        for trial_id, result in results.items()
    }


def _results(running: Interleaving) -> dict[str, TrialResult]:
    results = {}
    while not running.has_ended:
        update = running.next_update(1.0)
        if update is not None and isinstance(update[1], TrialResult):
            trial, result = update
            assert isinstance(result, TrialResult)
            if result.state is not TrialState.COMPLETED:
                raise SystemExit(f"{trial.id} has {result.state}: {result.reason}")
            results[trial.id] = result
    return results


def _wait_for(socket: Path) -> None:
    while not socket.exists():
        time.sleep(0.05)

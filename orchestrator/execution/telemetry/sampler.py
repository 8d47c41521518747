"""Sampler: reads a trial's processes, cores and GPUs from outside, twice a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import fmean

from orchestrator.execution.telemetry.contamination import (
    Contamination,
    CounterSample,
    read_core_times,
)
from orchestrator.execution.telemetry.gpu_sampler import GpuSampler
from orchestrator.system.cgroup import Cgroups
from orchestrator.system.energy import PackageEnergy
from orchestrator.system.processes import ProcessTree, TreeSample

PERIOD_S = 0.5

_LEAST_S = 0.05
"""Least time between two samples: counters in ticks of 10 ms resolve nothing shorter."""


class Telemetry:
    """Load, memory and contamination of a trial's processes, cores and GPUs.

    Figures that could not be read are absent from :meth:`figures`, never 0.

    Attributes:
        gpus: Sampler of its GPUs.
    """

    def __init__(
        self,
        *,
        cores: Sequence[int] = (),
        gpus: Sequence[str] = (),
        num_others: Callable[[], int | None] = lambda: None,
        overhead_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Sample one attempt at a trial.

        Args:
            cores: Cores that it is bound to; empty if it is not bound.
            gpus: Its GPUs, named as in ``CUDA_VISIBLE_DEVICES``, by index or UUID.
            num_others: Counts the cores that others have leased on this node now.
            overhead_s: CPU time of the sweep's own driver and servers on the cores.
        """
        self._cores = tuple(cores)
        self._tree = ProcessTree()
        self._contamination = Contamination(len(self._cores))
        self.gpus = GpuSampler(gpus)
        self._packages = PackageEnergy()
        self._num_others, self._overhead_s = num_others, overhead_s
        self._others: list[int] = []
        self._others_s: float | None = None
        self._sampled_s = float("-inf")
        self._first: TreeSample | None = None
        self._last: tuple[float, TreeSample] | None = None
        self._is_paused = False
        self._busy_s = self._sampled_for_s = 0.0
        self._peak_bytes = 0
        self._kills_before = Cgroups().memory_kills()

    @property
    def peak_gib(self) -> float:
        """Largest sum of the processes' resident memory in any sample."""
        return self._peak_bytes / 2**30

    def sample(self, pids: Sequence[int], *, now: bool = False) -> TreeSample | None:
        """Read the processes below ``pids``, the cores and the GPUs.

        Args:
            pids: One process of each rank.
            now: True to sample before the period has passed.

        Returns:
            The sample of the processes, or None if none was taken.
        """
        at = time.monotonic()
        # The end of a pause is a new origin, however soon: earlier counts do not matter.
        least_s = PERIOD_S if not now else 0.0 if self._is_paused else _LEAST_S
        if at < self._sampled_s + least_s:
            return None
        self._sampled_s = at
        # One right behind the other: what is done in between is in the second count alone.
        cores = read_core_times(self._cores)
        sample = self._tree.read(pids)
        if not sample.pids:
            return None  # they have ended
        was_paused = self._is_paused
        self._count(at, sample)
        self._peak_bytes = max(self._peak_bytes, sample.resident_bytes)
        if cores is not None:
            counters = CounterSample(
                at=at,
                cores=cores,
                own=sample.cpu_s,
                waited=sample.waited_s,
                overhead=self._overhead_s(),
            )
            self._contamination.add(counters)
        self.gpus.sample(sample.pids)
        self._packages.read(skip=was_paused)
        self._sample_others(at)
        return sample

    def pause(self, pids: Sequence[int]) -> TreeSample | None:
        """Sample at the end of a time slice; the time until the next sample does not count."""
        sample = self.sample(pids, now=True)
        self._is_paused = True
        self._contamination.skip()
        return sample

    def _count(self, at: float, sample: TreeSample) -> None:
        if self._last is not None and not self._is_paused:
            before_s, before = self._last
            self._busy_s += sample.cpu_s - before.cpu_s
            self._sampled_for_s += at - before_s
        self._first, self._last, self._is_paused = self._first or sample, (at, sample), False

    def _sample_others(self, at: float) -> None:
        """Count others' leases once a period, and never at the start: it may take 10 ms."""
        self._others_s = at if self._others_s is None else self._others_s
        if at >= self._others_s + PERIOD_S:
            self._others_s = at
            num_others = self._num_others()
            self._others += [] if num_others is None else [num_others]

    def figures(self) -> dict[str, float]:
        """Return figures by metric name."""
        figures: dict[str, float] = {}
        if self._peak_bytes:
            figures["peak_rss_gib"] = self.peak_gib
        if self._first is not None and self._last is not None and self._sampled_for_s:
            figures["busy_cores"] = self._busy_s / self._sampled_for_s
            figures["major_faults"] = self._last[1].major_faults - self._first.major_faults
        if self._others:
            figures["others_cores"] = fmean(self._others)
        figures |= self._contamination.figures() | self.gpus.figures()
        of_packages, of_gpus = self._packages.joules, figures.get("gpu_energy_j")
        if of_packages is not None or of_gpus is not None:
            figures["energy_j"] = (of_packages or 0.0) + (of_gpus or 0.0)
        return figures

    def tags(self) -> dict[str, str]:
        """Return verdicts by name."""
        findings = self.contamination()
        if findings is None:
            return self.gpus.tags()
        return {"contaminated": "; ".join(findings) or "false", **self.gpus.tags()}

    def contamination(self) -> list[str] | None:
        """Return what contaminated the trial, in words; None where that is not known."""
        known = [f for f in (self._contamination.findings(), self.gpus.findings()) if f is not None]
        return [finding for findings in known for finding in findings] if known else None

    def out_of_memory(self) -> bool:
        """Return True if the kernel has killed for memory in this control group meanwhile."""
        now = Cgroups().memory_kills()
        return now is not None and self._kills_before is not None and now > self._kills_before

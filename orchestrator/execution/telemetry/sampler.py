"""What a supervisor reads of its trial from outside, twice a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from orchestrator.execution.telemetry.contamination import Contamination, Moment, read_core_times
from orchestrator.execution.telemetry.gpu_sampler import GpuWatch
from orchestrator.system.cgroup import Cgroups, named_count
from orchestrator.system.processes import ProcessTree, TreeSample

PERIOD_S = 0.5

_LEAST_S = 0.05
"""Two looks that follow each other sooner are one."""


class Telemetry:
    """Load, memory and disturbance of a trial's processes, cores and GPUs.

    What could not be read is absent from :meth:`figures`, never 0.
    """

    def __init__(
        self,
        *,
        cores: Sequence[int] = (),
        gpus: Sequence[str] = (),
        num_others: Callable[[], int | None] = lambda: None,
        overhead_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Watches one attempt at a trial.

        Args:
            cores: Cores that it is bound to; empty where it is bound to none.
            gpus: Its GPUs, named as in ``CUDA_VISIBLE_DEVICES``, by index or UUID.
            num_others: Tells how many cores others have leased on this node now.
            overhead_s: CPU time that the sweep's own driver and servers have used on the cores.
        """
        self._cores = tuple(cores)
        self._tree = ProcessTree()
        self._contamination = Contamination(len(self._cores))
        self._gpus = GpuWatch(gpus)
        self._num_others, self._overhead_s = num_others, overhead_s
        self._others: list[int] = []
        self._others_s: float | None = None
        self._looked_s = float("-inf")
        self._first: TreeSample | None = None
        self._last: tuple[float, TreeSample] | None = None
        self._is_paused = False
        self._busy_s = self._watched_s = 0.0
        self._peak_bytes = 0
        self._kills_before = _memory_kills()

    @property
    def device(self) -> str:
        """The GPUs' names; ``cpu`` where there are none."""
        return self._gpus.device

    @property
    def note(self) -> str:
        """What the user should know of what could not be read, or empty."""
        return self._gpus.note

    @property
    def peak_gib(self) -> float:
        """Largest sum of the processes' resident memory that was seen."""
        return self._peak_bytes / 2**30

    def sample(self, pids: Sequence[int], *, now: bool = False) -> TreeSample | None:
        """Reads the processes below ``pids``, the cores and the GPUs.

        Args:
            pids: One process of each rank.
            now: Whether to read although it is not time to; not twice at once even then.

        Returns:
            What the processes have come to, or None if nothing was read.
        """
        at = time.monotonic()
        if at < self._looked_s + (_LEAST_S if now else PERIOD_S):
            return None
        self._looked_s = at
        cores = read_core_times(self._cores)
        seen = self._tree.read(pids)
        if not seen.pids:
            return None  # they have ended
        self._count(at, seen)
        self._peak_bytes = max(self._peak_bytes, seen.resident_bytes)
        if cores is not None:
            own, waited = seen.cpu_s, seen.waited_s
            self._contamination.look(
                Moment(at=at, cores=cores, own=own, waited=waited, overhead=self._overhead_s())
            )
        self._gpus.look(seen.pids)
        self._look_at_others(at)
        return seen

    def pause(self, pids: Sequence[int]) -> TreeSample | None:
        """Reads a last time before others' turns; what happens until the next look is theirs."""
        seen = self.sample(pids, now=True)
        self._is_paused = True
        self._contamination.passes_over()
        return seen

    def _count(self, at: float, seen: TreeSample) -> None:
        if self._last is not None and not self._is_paused:
            before_s, before = self._last
            self._busy_s += seen.cpu_s - before.cpu_s
            self._watched_s += at - before_s
        self._first, self._last, self._is_paused = self._first or seen, (at, seen), False

    def _look_at_others(self, at: float) -> None:
        """Never sooner than it is time to, nor at the beginning: it may take 10 ms."""
        self._others_s = at if self._others_s is None else self._others_s
        if at >= self._others_s + PERIOD_S:
            self._others_s = at
            others = self._num_others()
            self._others += [] if others is None else [others]

    def unbound(self) -> None:
        """The trial runs on whichever cores there are: nothing can be said of any of them."""
        self._cores, self._contamination = (), Contamination(0)

    def figures(self) -> dict[str, float]:
        """Figures by metric name."""
        read: dict[str, float] = {}
        if self._peak_bytes:
            read["peak_rss_gib"] = self.peak_gib
        if self._first is not None and self._last is not None and self._watched_s:
            read["busy_cores"] = self._busy_s / self._watched_s
            read["major_faults"] = self._last[1].major_faults - self._first.major_faults
        if self._others:
            read["others_cores"] = fmean(self._others)
        return read | self._contamination.figures() | self._gpus.figures()

    def tags(self) -> dict[str, str]:
        """Verdicts by name."""
        findings = self.contamination()
        if findings is None:
            return self._gpus.tags()
        return {"contaminated": "; ".join(findings) or "false", **self._gpus.tags()}

    def contamination(self) -> list[str] | None:
        """What disturbed the trial, in words; None where nothing can be said."""
        known = [
            f for f in (self._contamination.findings(), self._gpus.findings()) if f is not None
        ]
        return [finding for findings in known for finding in findings] if known else None

    def out_of_memory(self) -> bool:
        """Whether the kernel has killed a process of this control group for memory since."""
        now = _memory_kills()
        return now is not None and self._kills_before is not None and now > self._kills_before


def _memory_kills() -> int | None:
    """Of the control group; of the whole node where that does not tell."""
    kills = Cgroups().memory_kills()
    return named_count(Path("/proc/vmstat"), "oom_kill") if kills is None else kills

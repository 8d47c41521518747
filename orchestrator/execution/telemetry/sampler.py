"""Sampler: reads a trial's processes, cores, GPUs and energy from outside, twice a second."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from orchestrator.execution.telemetry.contamination import SHARE, Contamination, read_core_times
from orchestrator.execution.telemetry.gpu_sampler import GpuSampler
from orchestrator.execution.telemetry.shared_memory import SharedFiles
from orchestrator.system.cgroup import Cgroups
from orchestrator.system.processes import ProcessTree, TreeSample
from orchestrator.trial import LOAD

PERIOD_S = 0.5

_LEAST_S = 0.05
"""Least time between two samples: counters in ticks of 10 ms resolve nothing shorter."""

POWERCAP: Final = Path("/sys/class/powercap")


class PackageEnergy:
    """Energy of this node's CPU packages, by their own counters (RAPL, through Linux' powercap).

    The counters are the whole node's, of everything that runs on it, and since Linux 5.10 root
    alone may read them.

    Args:
        root: Folder of the counters.
    """

    def __init__(self, root: Path = POWERCAP) -> None:
        # AMD's packages have the same name. A second colon is a part of a package.
        found = sorted(root.glob("intel-rapl:[0-9]*"))
        self._zones = [path for path in found if path.name.count(":") == 1]
        self._last: list[int] = []
        self._total_uj = 0

    def read(self) -> float | None:
        """Return the joules since the first reading; None where a counter cannot be read."""
        try:
            now = [int((zone / "energy_uj").read_text()) for zone in self._zones]
            ranges = [int((zone / "max_energy_range_uj").read_text()) for zone in self._zones]
        except (OSError, ValueError):
            return None
        # A counter goes back to 0 after its range: within minutes on a busy package.
        steps = zip(now, self._last or now, ranges, strict=True)
        self._total_uj += sum((new - old) % (most + 1) for new, old, most in steps)
        self._last = now
        return self._total_uj / 1e6 if now else None


class Growth:
    """Growth of counters from sample to sample, without the gaps.

    Attributes:
        total: Growth so far, by name.
        last: Newest sample; empty at the beginning and after a gap.
    """

    def __init__(self) -> None:
        """Begin without a sample."""
        self.total: defaultdict[str, float] = defaultdict(float)
        self.last: Mapping[str, float] = {}

    def add(self, now: Mapping[str, float]) -> None:
        """Add the growth since the last sample."""
        for name in now.keys() & self.last.keys():
            self.total[name] += now[name] - self.last[name]
        self.last = now

    def skip(self) -> None:
        """Leave out the time until the next sample, which is the time slice of other trials."""
        self.last = {}


class Telemetry:
    """Load, memory and contamination of a trial's processes, cores and GPUs.

    Figures that could not be read are absent from :meth:`figures`, never 0.

    Attributes:
        gpus: Sampler of its GPUs.
        shared: Its files in shared memory.
        peak_gib: Largest sum of the processes' resident memory in any sample.
    """

    def __init__(
        self,
        *,
        cores: Sequence[int] = (),
        gpus: Sequence[str] = (),
        shares_gpu: bool = False,
        by_turns: bool = False,
        num_others: Callable[[], int | None] = lambda: None,
        overhead_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Sample one attempt at a trial.

        Args:
            cores: Cores that it is bound to; empty if it is not bound.
            gpus: UUIDs of its GPUs.
            shares_gpu: True where other trials may compute on them at the same time.
            by_turns: True where it is interleaved with other trials.
            num_others: Counts the cores that others have leased on this node now.
            overhead_s: CPU time of the sweep's own driver and servers on the cores.
        """
        self._cores = tuple(cores)
        self._tree, self._packages = ProcessTree(), PackageEnergy()
        self.gpus = GpuSampler(gpus, are_shared=shares_gpu, by_turns=by_turns)
        self.shared = SharedFiles()
        self._num_others, self._overhead_s = num_others, overhead_s
        self._others: list[int] = []
        self._others_s: float | None = None
        self._sampled_s = float("-inf")
        self._growth = Growth()
        self.peak_gib = 0.0
        self._kills_before = Cgroups().memory_kills()

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
        least_s = PERIOD_S if not now else _LEAST_S if self._growth.last else 0.0
        if at < self._sampled_s + least_s:
            return None
        self._sampled_s = at
        # One right behind the other: what is done in between is in the second count alone.
        cores = read_core_times(self._cores)
        sample = self._tree.read(pids)
        if not sample.pids:
            return None  # they have ended
        known = {
            "waited": sample.waited_s,
            "overhead": None if cores is None else self._overhead_s(),
            "packages_j": self._packages.read(),
        }
        self._growth.add({
            "at": at, "own": sample.cpu_s, "major_faults": float(sample.major_faults),
            **(cores or {}), **{name: value for name, value in known.items() if value is not None},
        })  # fmt: skip
        self.peak_gib = max(self.peak_gib, sample.resident_bytes / 2**30)
        self.gpus.sample(sample.pids)
        self.shared.read(sample.pids)
        self._sample_others(at)
        return sample

    def pause(self, pids: Sequence[int]) -> TreeSample | None:
        """Sample at the end of a time slice; the time until the next sample does not count."""
        sample = self.sample(pids, now=True)
        self._growth.skip()
        self.gpus.skip()
        return sample

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
        total = self._growth.total
        if self.peak_gib:
            figures["peak_rss_gib"] = self.peak_gib
        if total["at"]:
            figures["busy_cores"] = total["own"] / total["at"]
            figures["major_faults"] = total["major_faults"]
        if self._others:
            figures["others_cores"] = fmean(self._others)
        figures |= self._of_cores().figures() | self.gpus.figures()
        if "packages_j" in total or "gpu_energy_j" in figures:
            figures["energy_j"] = total.get("packages_j", 0.0) + figures.get("gpu_energy_j", 0.0)
        return figures

    def tags(self) -> dict[str, str]:
        """Return verdicts by name."""
        findings = self.contamination()
        if findings is None:
            return self.gpus.tags()
        return {LOAD: "; ".join(findings) or "false", **self.gpus.tags()}

    def contamination(self) -> list[str] | None:
        """Return what contaminated the trial, in words; None where that is not known."""
        both = self._of_cores().findings(), self.gpus.findings(SHARE)
        known = [findings for findings in both if findings is not None]
        return [finding for findings in known for finding in findings] if known else None

    def _of_cores(self) -> Contamination:
        return Contamination(len(self._cores), self._growth.total)

    def out_of_memory(self) -> bool:
        """Return True if the kernel has killed for memory in this control group meanwhile."""
        now = Cgroups().memory_kills()
        return now is not None and self._kills_before is not None and now > self._kills_before

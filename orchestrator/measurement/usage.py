"""Usage of a training's processes: memory, CPU time, page faults; and torch's settings in them.

Resident memory counts a shared page once for each process that has touched it. PSS divides a
shared page among its holders, so that the sum over processes is what they take together. A
worker's Private_Dirty is what it has written and shares with no other process: it grows where
pages are copied on write. Pages of a mapped file that only one worker reads are not in it.
"""

import os
import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

import psutil
import torch

from orchestrator.system.processes import children_of, family, rolled_up


class Usage(NamedTuple):
    """Counters of a process and of its children, ended ones included.

    Attributes:
        user_s: CPU seconds in user mode, children included.
        system_s: CPU seconds in the kernel, children included.
        minor_faults: Minor page faults of the process itself.
    """

    user_s: float = 0.0
    system_s: float = 0.0
    minor_faults: int = 0

    def grown(self, before: "Usage", after: "Usage") -> "Usage":
        """Return it with what was used between two readings."""
        return Usage(
            self.user_s + after.user_s - before.user_s,
            self.system_s + after.system_s - before.system_s,
            self.minor_faults + after.minor_faults - before.minor_faults,
        )


def usage_now() -> Usage:
    """Return the counters of this process and of its children, while and after they live."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    user_s, system_s = own.ru_utime + ended.ru_utime, own.ru_stime + ended.ru_stime
    for child in family([os.getpid()])[1:]:
        with suppress(psutil.NoSuchProcess):
            times = psutil.Process(child).cpu_times()
            user_s += times.user
            system_s += times.system
    return Usage(user_s=user_s, system_s=system_s, minor_faults=own.ru_minflt)


def settings() -> dict[str, str]:
    """Return torch's settings in this process, as a row's tags.

    Returns:
        ``threads`` of an operation; ``deterministic``: ``off``, or the names of ``algorithms``,
        ``cudnn`` and ``cudnn benchmark`` (which is the opposite of it) that are on.
    """
    cudnn = torch.backends.cudnn
    asked = {
        "algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn": cudnn.deterministic,
        "cudnn benchmark": cudnn.benchmark,
    }
    names = [name for name, is_on in asked.items() if is_on]
    return {"threads": str(torch.get_num_threads()), "deterministic": ", ".join(names) or "off"}


MIN_EPOCHS: Final = 3
"""Least readings for a growth."""
MAX_SHARE: Final = 0.05
"""Largest share of the training time for readings beyond the first and the last ones."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory at the end of an epoch, while the workers that persist still live.

    Attributes:
        epoch: Index of the epoch.
        pss_bytes: Of this process and its children, a shared page counted once.
        private_bytes: Private_Dirty of each child, by process id and start time: ids come again.
    """

    epoch: int
    pss_bytes: int
    private_bytes: Mapping[tuple[int, float], int]


@dataclass
class MemoryAtEnds:
    """Memory at the ends of a run's epochs.

    A reading takes some ten milliseconds for each process: with eight workers and short epochs
    a third of the trial. So the first ends are read and the last one, and of the others as many
    as take no more than :data:`MAX_SHARE`.

    Attributes:
        readings: All of them, in order.
        read: Reads the memory at the end of an epoch.
        clock: Seconds from any origin.
    """

    readings: list[Memory] = field(default_factory=list)
    read: Callable[[int], Memory | None] = field(default_factory=lambda: memory_at)
    clock: Callable[[], float] = time.perf_counter
    _spent_s: float = 0.0

    def end_epoch(self, epoch: int, train_s: float, *, is_last: bool) -> None:
        """Read the memory, unless too much time has gone into that.

        Args:
            epoch: Index of the epoch.
            train_s: Seconds spent in training epochs so far.
            is_last: True where no other epoch follows.
        """
        is_due = len(self.readings) < MIN_EPOCHS or self._spent_s < MAX_SHARE * train_s
        if not (is_due or is_last):
            return
        began = self.clock()
        reading = self.read(epoch)
        self._spent_s += self.clock() - began
        if reading is not None:
            self.readings.append(reading)


def memory_at(epoch: int) -> Memory | None:
    """Read the memory now, at the end of ``epoch``; None where the system has no figures."""
    own = os.getpid()
    try:
        pss = rolled_up(own)["Pss"]
    except (OSError, KeyError):
        return None
    private: dict[tuple[int, float], int] = {}
    for child in children_of(own):
        with suppress(psutil.Error, OSError, KeyError):  # it has just ended
            sizes, began_at = rolled_up(child), psutil.Process(child).create_time()
            private[child, began_at] = sizes["Private_Dirty"]
            pss += sizes["Pss"]
    return Memory(epoch=epoch, pss_bytes=pss, private_bytes=private)


def peak_gpu_bytes(device: torch.device) -> int | None:
    """Return the peak memory allocated so far on the fullest GPU of this process; None on a CPU."""
    if device.type != "cuda":
        return None
    return max(map(torch.cuda.max_memory_allocated, range(torch.cuda.device_count())))


def memory_figures(readings: Sequence[Memory]) -> Iterator[tuple[str, float]]:
    """Yield figures from the readings at the ends of a run's epochs."""
    if readings:
        yield "peak_pss_gib", max(reading.pss_bytes for reading in readings) / 2**30
    growth = _growth_bytes(readings)
    if growth is not None:
        yield "worker_growth_mib_per_epoch", growth / 2**20


def _growth_bytes(readings: Sequence[Memory]) -> float | None:
    """Return the median growth an epoch, summed over workers that lived at both of two readings.

    Two readings that lie several epochs apart count once for each of these.
    """
    growths: list[float] = []
    # An epoch that was broken out of, for example for an evaluation, has one for each part.
    at_ends = {reading.epoch: reading for reading in readings}
    for before, after in pairwise(at_ends.values()):
        both = before.private_bytes.keys() & after.private_bytes.keys()
        if both:
            grown = sum(after.private_bytes[key] - before.private_bytes[key] for key in both)
            num_epochs = after.epoch - before.epoch
            growths += [grown / num_epochs] * num_epochs
    return statistics.median(growths) if len(growths) >= MIN_EPOCHS - 1 else None

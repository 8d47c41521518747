"""Usage of a training's processes (CPU time, page faults), and torch's settings in them."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Counters of a process and of its children, ended ones included.

    Attributes:
        user_s: CPU seconds in user mode, children included.
        system_s: CPU seconds in the kernel, children included.
        minor_faults: Minor page faults of the process itself.
    """

    user_s: float
    system_s: float
    minor_faults: int

    def __sub__(self, earlier: Usage) -> Usage:
        return Usage(
            user_s=self.user_s - earlier.user_s,
            system_s=self.system_s - earlier.system_s,
            minor_faults=self.minor_faults - earlier.minor_faults,
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            user_s=self.user_s + other.user_s,
            system_s=self.system_s + other.system_s,
            minor_faults=self.minor_faults + other.minor_faults,
        )


NO_USAGE = Usage(user_s=0.0, system_s=0.0, minor_faults=0)


def usage_now() -> Usage:
    """Return the counters of this process and of its children, while and after they live."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    user_s, system_s = own.ru_utime + ended.ru_utime, own.ru_stime + ended.ru_stime
    for child in psutil.Process().children(recursive=True) if _has_children() else ():
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        user_s += times.user
        system_s += times.system
    return Usage(user_s=user_s, system_s=system_s, minor_faults=own.ru_minflt)


def _has_children() -> bool:
    """Return False where this process has no child: to look for them reads every process there is.

    Without loader workers there are none, and epochs may be as short as a millisecond.
    """
    try:
        lists = [thread / "children" for thread in Path("/proc/self/task").iterdir()]
        return any(each.read_text() for each in lists)
    except OSError:  # a thread has ended, or the kernel has no such file
        return True


def settings() -> dict[str, str]:
    """Return torch's settings in this process, as a row's tags; empty without torch.

    Returns:
        ``threads`` of an operation; ``deterministic``: ``off``, or the names of ``algorithms``,
        ``cudnn`` and ``cudnn benchmark`` (which is the opposite of it) that are on.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return {}
    cudnn = torch.backends.cudnn
    asked = {
        "algorithms": torch.are_deterministic_algorithms_enabled(),
        "cudnn": cudnn.deterministic,
        "cudnn benchmark": cudnn.benchmark,
    }
    names = [name for name, is_on in asked.items() if is_on]
    return {"threads": str(torch.get_num_threads()), "deterministic": ", ".join(names) or "off"}

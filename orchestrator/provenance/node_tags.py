"""What a figure depends on apart from its config: the node it was measured on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from orchestrator.provenance.environment import cpu_model, versions

TIMED_PACKAGES: Final = ("python", "glibc", "torch", "torchvision", "dgl", "numpy")
"""What runs inside a timed step, the C library's allocator included."""

_CPUFREQ: Final = "cpu0/cpufreq"


@cache
def node_tags() -> Mapping[str, str]:
    """What every row says of the node that it was measured on. Never fails.

    Returns:
        ``cpu_model``; ``versions`` of what runs inside a timed step; ``clocks``, how the
        cores' frequency is governed, where the kernel says so. A row has its allocator,
        threads and determinism beside these, and a GPU is named as its device.
    """
    found = {name: number for name, number in versions().items() if name in TIMED_PACKAGES}
    tags = {
        "cpu_model": cpu_model(),
        "versions": " ".join(f"{name} {number}" for name, number in found.items()),
        "clocks": clock_policy(Path("/sys/devices/system/cpu")),
    }
    return {name: text for name, text in tags.items() if text}


def clock_policy(cpus: Path) -> str:
    """``powersave, turbo on``: the governor, and whether cores may exceed their base clock.

    ``""`` where the kernel does not say, as in most containers.

    Args:
        cpus: ``/sys/devices/system/cpu``.
    """
    governor = _read(cpus / _CPUFREQ / "scaling_governor")
    words = {"0": "on", "1": "off"}
    turbo = words.get(_read(cpus / "intel_pstate" / "no_turbo"), "")
    if not turbo:
        turbo = {"0": "off", "1": "on"}.get(_read(cpus / "cpufreq" / "boost"), "")
    return ", ".join([*([governor] if governor else []), *([f"turbo {turbo}"] if turbo else [])])


def nodes_record(names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """What ``sweep.json`` says of the nodes before any trial: of this one; rows say it of all."""
    here = platform.node()
    return {name: dict(node_tags()) for name in names if name == here}


def _read(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text().strip()
    return ""

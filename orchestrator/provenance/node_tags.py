"""Node tags: properties of the node that a row's figures depend on, apart from its config."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from orchestrator.provenance.environment import cpu_model, versions

TIMED_PACKAGES: Final = ("python", "glibc", "torch", "torchvision", "dgl", "numpy")
"""Packages that run inside a timed step; glibc is its allocator."""

_CPUFREQ: Final = "cpu0/cpufreq"


@cache
def node_tags() -> Mapping[str, str]:
    """Return the tags of this node, for each of its rows. Never fails.

    Returns:
        ``cpu_model``; ``versions`` of packages that run inside a timed step; ``clocks``, the
        policy of the cores' frequency, where the kernel says so.
    """
    timed = {name: number for name, number in versions().items() if name in TIMED_PACKAGES}
    tags = {
        "cpu_model": cpu_model(),
        "versions": " ".join(f"{name} {number}" for name, number in timed.items()),
        "clocks": clock_policy(Path("/sys/devices/system/cpu")),
    }
    return {name: text for name, text in tags.items() if text}


def clock_policy(cpus: Path) -> str:
    """Return governor and turbo of the cores' clock, such as ``powersave, turbo on``.

    Empty where the kernel does not say, as in most containers.

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
    """Return the tags of this node if it is among ``names``, for ``sweep.json``.

    Other nodes are known from their rows.
    """
    here = platform.node()
    return {name: dict(node_tags()) for name in names if name == here}


def _read(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text().strip()
    return ""

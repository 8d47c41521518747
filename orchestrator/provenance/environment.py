"""Environment of a run: versions, hardware and commit, and the tags of a node's rows."""

import importlib.metadata
import platform
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from orchestrator.provenance.version import __version__
from orchestrator.system.cgroup import node_bytes
from orchestrator.system.cores import usable_cores

PACKAGES = (
    "torch", "torchvision", "dgl", "ogb", "ray", "mlflow", "optuna", "numpy", "pandas", "pyarrow",
    "scikit-learn", "scipy",
)  # fmt: skip
"""Packages whose versions are recorded."""
TIMED_PACKAGES: Final = ("python", "glibc", "torch", "torchvision", "dgl", "numpy")
"""Packages that run inside a timed step; glibc is its allocator."""

_GIT_TIMEOUT_S: Final = 10


def environment(sweep_file: Path) -> dict[str, Any]:
    """Return versions, hardware and commit, as ``sweep.json`` has them. Never fails.

    Returns:
        ``versions`` by package name; ``hardware`` with ``cpu_model``, the usable ``num_cores``,
        ``memory_gib`` and ``gpus``; ``git`` with the ``commit`` of the sweep file's
        repository and a flag ``dirty``, or None without a repository.
    """
    return {
        "versions": versions(),
        "hardware": {
            "cpu_model": cpu_model(),
            "num_cores": len(usable_cores()),
            "memory_gib": round(node_bytes() / 2**30, 1),
            "gpus": _gpus(),
        },
        "git": git_state(sweep_file.resolve().parent),
    }


def versions() -> dict[str, str]:
    """Return versions of Python, the C library and the packages, without importing any."""
    versions = {
        "sweep-orchestrator": __version__,
        "python": platform.python_version(),
        "glibc": platform.libc_ver()[1],
    }
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {name: version for name, version in versions.items() if version}


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return ``commit`` and ``dirty`` of the repository around ``folder``, or None."""
    # Without its lock git writes no index: another git in this repository is not disturbed.
    command = ["git", "--no-optional-locks", "status", "--porcelain=v2", "--branch"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.splitlines()
    mark = "# branch.oid "
    commits = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
    commit = commits[0] if commits and commits[0] != "(initial)" else ""
    return {"commit": commit, "dirty": any(not line.startswith("#") for line in lines)}


def cpu_model() -> str:
    """Return the kernel's name of the CPU."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    """Return name and memory of each NVIDIA GPU; none where NVML does not answer."""
    import pynvml

    gpus = []
    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            gib = pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30
            gpus.append(f"{pynvml.nvmlDeviceGetName(handle)}, {gib:.0f} GiB")
    return gpus


# -- the tags of a node


@cache
def node_tags() -> Mapping[str, str]:
    """Return the tags of this node, for each of its rows. Never fails.

    Returns:
        ``cpu_model``; ``versions`` of packages that run inside a timed step; ``clocks``, the
        policy of the cores' frequency, where the kernel shows it.
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

    Empty where the kernel does not show it, as in most containers.

    Args:
        cpus: ``/sys/devices/system/cpu``.
    """
    governor = _read(cpus / "cpu0/cpufreq/scaling_governor")
    is_on = {"0": "turbo on", "1": "turbo off"}.get(_read(cpus / "intel_pstate" / "no_turbo"))
    boosts = {"0": "turbo off", "1": "turbo on"}.get(_read(cpus / "cpufreq" / "boost"))
    return ", ".join(filter(None, (governor, is_on or boosts)))


def _read(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text().strip()
    return ""

"""Environment of a run: versions, hardware and commit."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.system.cores import usable_cores
from orchestrator.system.memory import node_bytes
from orchestrator.version import __version__

PACKAGES = (
    "torch", "torchvision", "dgl", "ogb", "ray", "mlflow", "optuna", "numpy", "pandas", "pyarrow",
    "scikit-learn", "scipy",
)  # fmt: skip
"""Packages whose versions are recorded."""

_GIT_TIMEOUT_S = 10


def environment(sweep_file: Path) -> dict[str, Any]:
    """Return versions, hardware and commit, as ``sweep.json`` holds them. Never fails.

    Returns:
        ``versions`` by package name; ``hardware`` with ``cpu_model``, the usable ``num_cores``,
        ``memory_gib`` and ``gpus``; ``git`` with the ``commit`` of the sweep file's
        repository and a flag ``dirty``, or None without a repository.
    """
    memory = node_bytes()
    return {
        "versions": versions(),
        "hardware": {
            "cpu_model": cpu_model(),
            "num_cores": len(usable_cores()),
            "memory_gib": None if memory is None else round(memory / 2**30, 1),
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
    """Return ``commit`` and ``dirty`` of the repository that holds ``folder``, or None."""
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
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # noqa: BLE001 - no package, no driver, no permission: nothing to record
        return []
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return [
            f"{pynvml.nvmlDeviceGetName(handle)}, "
            f"{pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30:.0f} GiB"
            for handle in handles
        ]
    except pynvml.NVMLError:
        return []
    finally:
        pynvml.nvmlShutdown()

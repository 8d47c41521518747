"""Limits of made-up control groups of versions 1 and 2: the process's own and those above."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.system.cgroup import Cgroups

V1 = "3:cpu,cpuacct:/job\n4:memory:/job/step\n"


def cgroups(folder: Path, files: dict[str, str], membership: str) -> Cgroups:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content + "\n")
    (folder / "membership").write_text(membership)
    return Cgroups(mount=folder, membership=folder / "membership")


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "max 100000"}, None),
        ("0::/\n", {"cpu.max": "150000 100000"}, 1.5),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3.0),
        ("0::/a/b\n", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "200000 100000"}, 2.0),
        ("0::/not/seen/here\n", {"cpu.max": "400000 100000"}, 4.0),
        (V1, {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        (V1, {"cpu/job/cpu.cfs_quota_us": "200000", "cpu/job/cpu.cfs_period_us": "100000"}, 2.0),
        (V1, {"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 0.5),
        ("", {}, None),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
    ],
)
def test_cpu_quota(
    tmp_path: Path, membership: str, files: dict[str, str], expected: float | None
) -> None:
    assert cgroups(tmp_path, files, membership).cpu_quota() == expected


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/a\n", {"a/memory.max": "max", "memory.max": "8589934592"}, 2**33),
        (V1, {"memory/job/step/memory.limit_in_bytes": "4294967296"}, 2**32),
        (V1, {"memory/job/memory.limit_in_bytes": "1073741824"}, 2**30),
        ("", {}, None),
    ],
)
def test_memory(
    tmp_path: Path, membership: str, files: dict[str, str], expected: int | None
) -> None:
    assert cgroups(tmp_path, files, membership).memory_bytes() == expected


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/a\n", {"a/memory.events": "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1"}, 1),
        (V1, {"memory/job/step/memory.oom_control": "oom_kill_disable 0\noom_kill 4"}, 4),
        ("", {}, None),
    ],
)
def test_kills(
    tmp_path: Path, membership: str, files: dict[str, str], expected: int | None
) -> None:
    assert cgroups(tmp_path, files, membership).memory_kills() == expected

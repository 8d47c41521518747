from __future__ import annotations

import gc
from pathlib import Path

import pytest

from orchestrator.system.cgroup import Cgroups
from orchestrator.system.memory import node_bytes, without_collecting

GIB = 2**30


def node(folder: Path, total_gib: float, limit_gib: float | None = None) -> int | None:
    (folder / "meminfo").write_text(f"MemTotal: {int(total_gib * 2**20)} kB\nMemFree: 5 kB\n")
    (folder / "membership").write_text("0::/job\n")
    (folder / "job").mkdir()
    limit = "max" if limit_gib is None else str(int(limit_gib * GIB))
    (folder / "job/memory.max").write_text(limit + "\n")
    groups = Cgroups(mount=folder, membership=folder / "membership")
    return node_bytes(folder / "meminfo", groups)


@pytest.mark.parametrize(("limit_gib", "expected"), [(None, 16), (8, 8), (64, 16)])
def test_the_least_of_node_and_cgroup_counts(
    tmp_path: Path, limit_gib: float | None, expected: float
) -> None:
    assert node(tmp_path, 16, limit_gib) == expected * GIB


def test_a_node_that_tells_nothing_has_no_known_memory(tmp_path: Path) -> None:
    groups = Cgroups(mount=tmp_path, membership=tmp_path / "absent")
    assert node_bytes(tmp_path / "absent", groups) is None


def test_nothing_is_collected_within_and_all_is_frozen_afterwards() -> None:
    assert gc.isenabled()
    before = gc.get_freeze_count()
    try:
        with without_collecting():
            assert not gc.isenabled()
            made = [object() for _ in range(3)]
        assert gc.isenabled()
        assert gc.get_freeze_count() > before
        assert len(made) == 3
    finally:
        gc.unfreeze()

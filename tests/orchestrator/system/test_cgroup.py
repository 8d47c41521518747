from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest

from orchestrator.system.cgroup import Cgroups, node_bytes, without_collecting


@pytest.mark.parametrize(("limit", "expected"), [(None, 16), (8, 8), (64, 16)])
def test_the_least_of_node_and_cgroup_counts(
    monkeypatch: pytest.MonkeyPatch, limit: int | None, expected: int
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=16))
    monkeypatch.setattr(Cgroups, "memory_bytes", lambda _: limit)
    assert node_bytes() == expected


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

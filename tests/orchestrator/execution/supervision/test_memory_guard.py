"""The limit of a trial's memory, and when the exact figure is read."""

from __future__ import annotations

import pytest

from orchestrator.execution.supervision.memory_guard import (
    READ_AGAIN_S,
    MemoryGuard,
    MemoryLimit,
    limit_of_trial,
)
from orchestrator.system.processes import TreeSample

GIB = 2**30


def test_a_trial_has_its_share_by_cores_unless_it_is_given_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "orchestrator.execution.supervision.memory_guard.node_bytes", lambda: 20 * GIB
    )
    quarter = limit_of_trial(None, num_cores=1, node_cores=4, isolated=False)
    isolated = limit_of_trial(None, num_cores=1, node_cores=4, isolated=True)
    given = limit_of_trial(1.5, num_cores=1, node_cores=4, isolated=False)
    assert quarter == MemoryLimit(
        num_bytes=int(4.5 * GIB), basis="90% of 20.0 GiB, its share: 1 of 4 cores"
    )
    assert isolated.num_bytes == 18 * GIB
    assert given.num_bytes == 1.5 * GIB


def test_the_exact_figure_is_read_only_where_it_may_matter() -> None:
    read: list[tuple[int, ...]] = []

    def exact(pids: object) -> int:
        read.append(tuple(pids))  # type: ignore[arg-type]
        return 6 * GIB

    now = 0.0
    guard = MemoryGuard(MemoryLimit(num_bytes=10 * GIB, basis=""), exact, lambda: now)

    def seen(gib: float) -> int | None:
        return guard.exceeded(TreeSample(pids=(1, 2), anonymous_bytes=int(gib * GIB)))

    assert seen(9) is None
    assert read == []
    assert seen(12) is None, "shared pages count twice in the sum, once in the exact figure"
    assert seen(13) is None
    assert len(read) == 1
    now = READ_AGAIN_S
    assert seen(9) is None
    assert len(read) == 1
    assert seen(14) is None, "it may have grown where the sum has not"
    assert len(read) == 2

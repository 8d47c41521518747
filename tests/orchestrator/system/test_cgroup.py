from types import SimpleNamespace

import pytest

from orchestrator.system.cgroup import Cgroups, node_bytes


@pytest.mark.parametrize(("limit", "expected"), [(None, 16), (8, 8), (64, 16)])
def test_the_least_of_node_and_cgroup_counts(
    monkeypatch: pytest.MonkeyPatch, limit: int | None, expected: int
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=16))
    monkeypatch.setattr(Cgroups, "memory_bytes", lambda _: limit)
    assert node_bytes() == expected

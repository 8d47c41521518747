"""Locks of made-up folders; that of all sweeps is named by ``$SWEEP_LEASES`` in tests."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from orchestrator.execution import core_locks
from orchestrator.execution.core_locks import CoreLocks, core_lock, lock_folder


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Locks that are released at the end of the test."""
    with ExitStack() as held:
        yield held


def test_a_lock_is_taken_once_until_it_is_released(tmp_path: Path, held: ExitStack) -> None:
    first, second = CoreLocks(tmp_path), CoreLocks(tmp_path)
    assert first.take(held, "gate.lock")
    assert not second.take(held, "gate.lock")
    held.close()
    assert second.take(held, "gate.lock")


def test_a_shared_lock_is_taken_by_many(tmp_path: Path, held: ExitStack) -> None:
    locks = CoreLocks(tmp_path)
    assert locks.take(held, "node.lock", shared=True)
    assert locks.take(held, "node.lock", shared=True)
    assert not locks.take(held, "node.lock")


def test_other_users_may_lock_whatever_the_umask_is(tmp_path: Path, held: ExitStack) -> None:
    before = os.umask(0o077)
    try:
        locks = CoreLocks(tmp_path / "locks")
        locks.create_folder()
        locks.take(held, "gate.lock")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o1777
    assert stat.S_IMODE((tmp_path / "locks/gate.lock").stat().st_mode) == 0o644


def test_nothing_is_known_of_locks_that_the_kernel_does_not_list(
    tmp_path: Path, held: ExitStack
) -> None:
    assert CoreLocks(tmp_path).take(held, core_lock(2))
    assert CoreLocks(tmp_path).take(held, "node.lock", shared=True)
    assert CoreLocks(tmp_path).held(range(4)) == {os.getpid(): {2}}
    assert CoreLocks(tmp_path, proc_locks=tmp_path / "absent").held(range(4)) == {}


def test_the_folder_is_one_for_all_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("SWEEP_LEASES", "/srv/locks")
    assert lock_folder() == Path("/srv/locks")
    monkeypatch.delenv("SWEEP_LEASES")
    assert lock_folder() == Path("/tmp/sweep-cores")


def test_a_containers_own_folder_is_refused_unless_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(core_locks, "is_private", lambda _: True)
    assert CoreLocks(tmp_path).refusal == ""
    monkeypatch.setenv("SWEEP_LEASES", str(tmp_path))
    assert CoreLocks().refusal == ""
    monkeypatch.delenv("SWEEP_LEASES")
    refusal = CoreLocks().refusal
    assert refusal.startswith("/tmp/sweep-cores is this container's own")
    assert "$SWEEP_LEASES" in refusal


LAYER, DISK = ("/", "overlay"), ("/", "ext4")


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ([DISK, ("/tmp", "tmpfs")], False),
        ([LAYER], True),
        ([LAYER, ("/tmp", "tmpfs")], True),
        ([LAYER, ("/tmp", "tmpfs"), ("/tmp/sweep-cores", "xfs")], False),
        ([LAYER, ("/tmp", "tmpfs"), ("/tmp", "ext4")], False),
    ],
)
def test_a_folder_that_no_other_container_sees(
    monkeypatch: pytest.MonkeyPatch, mounts: list[tuple[str, str]], expected: bool
) -> None:
    listed = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in mounts]
    monkeypatch.setattr("psutil.disk_partitions", lambda **_: listed)
    assert core_locks.is_private(Path("/tmp/sweep-cores")) is expected

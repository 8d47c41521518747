"""Locks of made-up folders; in tests ``$SWEEP_LEASES`` names the folder of all sweeps."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.execution.core_locks import CoreLocks, core_lock, lock_folder


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Locks that are released at the end of the test."""
    with ExitStack() as stack:
        yield stack


def test_a_lock_is_taken_once_until_it_is_released(tmp_path: Path, stack: ExitStack) -> None:
    first, second = CoreLocks(tmp_path), CoreLocks(tmp_path)
    assert first.take(stack, "gate.lock")
    assert not second.take(stack, "gate.lock")
    stack.close()
    assert second.take(stack, "gate.lock")


def test_a_shared_lock_is_taken_by_many(tmp_path: Path, stack: ExitStack) -> None:
    locks = CoreLocks(tmp_path)
    assert locks.take(stack, "node.lock", shared=True)
    assert locks.take(stack, "node.lock", shared=True)
    assert not locks.take(stack, "node.lock")


def test_other_users_may_lock_whatever_the_umask_is(tmp_path: Path, stack: ExitStack) -> None:
    before = os.umask(0o077)
    try:
        locks = CoreLocks(tmp_path / "locks")
        locks.create_folder()
        locks.take(stack, "gate.lock")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o1777
    assert stat.S_IMODE((tmp_path / "locks/gate.lock").stat().st_mode) == 0o644


def test_nothing_is_known_of_locks_that_the_kernel_does_not_list(
    tmp_path: Path, stack: ExitStack
) -> None:
    assert CoreLocks(tmp_path).take(stack, core_lock(2))
    assert CoreLocks(tmp_path).take(stack, "node.lock", shared=True)
    assert CoreLocks(tmp_path).held(range(4)) == {os.getpid(): {2}}
    assert CoreLocks(tmp_path, proc_locks=tmp_path / "absent").held(range(4)) == {}


def test_the_folder_is_one_for_all_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("SWEEP_LEASES", "/srv/locks")
    assert lock_folder() == Path("/srv/locks")
    monkeypatch.delenv("SWEEP_LEASES")
    assert lock_folder() == Path("/tmp/sweep-cores")

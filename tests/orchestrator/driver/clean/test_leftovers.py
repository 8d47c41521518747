"""Core locks that are removed while other processes take them."""

from __future__ import annotations

import fcntl
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.driver.clean.leftovers import _remove_locks
from orchestrator.execution.core_locks import CoreLocks


def test_a_lock_that_was_removed_before_it_was_taken_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has opened the file and not locked it yet would hold a lock that nobody sees."""
    locks, lock, removed = CoreLocks(tmp_path), fcntl.flock, list[str]()

    def removed_meanwhile(descriptor: int, kind: int) -> None:
        if not removed:
            (tmp_path / "core-0.lock").unlink()
            removed.append("core-0.lock")
        lock(descriptor, kind)

    monkeypatch.setattr("orchestrator.execution.core_locks.fcntl.flock", removed_meanwhile)
    with ExitStack() as held, ExitStack() as others:
        assert locks.take(held, "core-0.lock")
        assert not CoreLocks(tmp_path).take(others, "core-0.lock"), "it is seen"


def test_a_lock_that_is_held_is_not_removed(tmp_path: Path) -> None:
    with ExitStack() as held:
        assert CoreLocks(tmp_path).take(held, "core-0.lock")
        with pytest.raises(BlockingIOError, match=r"core-0\.lock is held"):
            _remove_locks(tmp_path)
    _remove_locks(tmp_path)
    assert not tmp_path.exists()

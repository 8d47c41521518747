from __future__ import annotations

import gc

from orchestrator.system.imports import without_collecting


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

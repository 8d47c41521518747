from __future__ import annotations

from pathlib import Path

import numpy as np

from trainables.data.formats.arrays import map_array
from trainables.graph.mapped import MappedMemory, mapped_bytes

MIB = 2**20


def test_what_was_read_is_given_back_once_it_is_too_much(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(32 * MIB, dtype=np.uint8))
    array = map_array(tmp_path / "a.npy")
    before = mapped_bytes()
    memory = MappedMemory([array], before + 16 * MIB)
    assert array[: 8 * MIB].sum() == 8 * MIB
    memory.keep_within_limit()
    assert mapped_bytes() >= before + 7 * MIB
    assert array.sum(dtype=np.int64) == 32 * MIB
    assert mapped_bytes() >= before + 30 * MIB
    memory.keep_within_limit()
    assert mapped_bytes() <= before + 2 * MIB
    assert array[-1] == 1

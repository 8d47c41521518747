"""Blocks: every step in one of them, the ends of epochs apart."""

from __future__ import annotations

import pytest

from orchestrator.measurement.blocks import (
    MAX_BLOCKS_PER_EPOCH,
    Block,
    Dropped,
    num_whole,
)
from tests.orchestrator.measurement.made_blocks import blocks_from


@pytest.mark.parametrize("num_steps", [1, 2, 5, 24, 25, 26, 1000, 10_000])
def test_blocks_hold_every_step_once(num_steps: int) -> None:
    blocks = blocks_from([[0.01] * num_steps], burst=6)
    ends = [block.first_step + block.num_steps for block in blocks]
    assert [block.first_step for block in blocks] == [0, *ends[:-1]]
    assert ends[-1] == num_steps
    assert len(blocks) <= MAX_BLOCKS_PER_EPOCH + 2


@pytest.mark.parametrize("num_steps", [1, 5, 23])
def test_an_epoch_too_short_for_a_middle_is_one_block(num_steps: int) -> None:
    blocks = blocks_from([[0.01] * num_steps], burst=6)
    assert [block.end for block in blocks] == [None]


@pytest.mark.parametrize("num_steps", [24, 25, 26, 1000, 10_000])
def test_the_ends_of_an_epoch_are_blocks_of_their_own(num_steps: int) -> None:
    first, *middle, last = blocks_from([[0.01] * num_steps], burst=6)
    assert (first.end, last.end) == (Dropped.EPOCH_START, Dropped.EPOCH_END)
    assert {block.end for block in middle} == {None}
    assert min(block.num_steps for block in middle) >= 12, "two rounds of the loader"


def test_a_block_comes_back_from_its_row() -> None:
    for block in blocks_from([[0.01, 0.02] * 20], burst=4):
        again = Block.from_row(block.to_row())
        assert again.to_row() == block.to_row()
        assert (again.epoch, again.samples, again.end) == (0, block.samples, block.end)


def test_steps_that_may_be_the_end_of_the_epoch_stay_pending() -> None:
    assert num_whole(11, burst=4, begins=True) == 0, "the first round and the last, no block"
    assert num_whole(16, burst=4, begins=True) == 4 + 8
    assert num_whole(16, burst=4, begins=False) == 8
    assert num_whole(5, burst=1, begins=True) == 1 + 4

"""Sweeps on a machine whose disk, clock and driver fail as a seed says."""

from __future__ import annotations

import pytest

from tests.simulation.schedules import played, schedule

NUM_SCHEDULES, PARTS = 1000, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_a_sweep_ends_as_if_nothing_had_happened(part: int) -> None:
    failed = {seed: wrong for seed in range(part, NUM_SCHEDULES, PARTS) if (wrong := played(seed))}
    for seed, wrong in failed.items():
        print(f"python -m tests.simulation {seed}  # {schedule(seed)[0].name}: {wrong[0]}")
    assert not failed


def test_a_seed_replays_the_same_schedule() -> None:
    assert schedule(7)[1] == schedule(7)[1]

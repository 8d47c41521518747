"""Sweeps on a machine with a disk, clock and driver that fail as drawn from a seed."""

import pytest

from orchestrator.kernel.journal import Journal
from tests.simulation.disk import Fault
from tests.simulation.schedules import play, played, schedule, undisturbed
from tests.simulation.sweeps import CASES

NUM_SCHEDULES, PARTS = 500, 4


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, PARTS))]
)
def test_a_sweep_ends_as_if_nothing_had_happened(part: int) -> None:
    failed = {seed: wrong for seed in range(part, NUM_SCHEDULES, PARTS) if (wrong := played(seed))}
    for seed, wrong in failed.items():
        print(f"python -m tests.simulation {seed}  # {schedule(seed)[0].name}: {wrong[0]}")
    assert not failed


@pytest.mark.parametrize("kind", ["eio", pytest.param("full", marks=pytest.mark.slow)])
def test_whichever_call_fails_the_run_is_resumed(kind: str) -> None:
    case = next(case for case in CASES if case.name == "halving")
    steps = range(1, undisturbed(case)[2] + 1)
    failed = {step: wrong for step in steps if (wrong := play(case, [Fault(kind, step)], step))}
    assert not failed


def test_a_journal_that_is_not_synced_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Journal, "sync_ends", lambda _journal: None)
    assert any(played(seed) for seed in range(30))


def test_a_seed_replays_the_same_schedule() -> None:
    assert schedule(7)[1] == schedule(7)[1]

"""Endings of made-up processes; those of real ones are in ``test_attempt.py``."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from orchestrator.execution.process.failures import GAVE_UP, write_reason
from orchestrator.execution.supervision import endings
from orchestrator.execution.supervision.endings import (
    exit_ending,
    infeasible_rank,
    keep_completed,
    merge_rerun,
    rerun_tag,
    result_ending,
)
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.trial import TrialResult, TrialState

LOST = "RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed."


class KernelKills:
    """Telemetry of a control group in which the kernel has killed for memory, or has not."""

    peak_gib = 3.14

    def __init__(self, killed: bool) -> None:
        self._killed = killed

    def out_of_memory(self) -> bool:
        return self._killed


def telemetry(*, killed: bool) -> Telemetry:
    return cast("Telemetry", KernelKills(killed))


class Rank:
    def __init__(self, *codes: int | None) -> None:
        self.pid = 0
        self._codes = list(codes)

    def poll(self) -> int | None:
        return self._codes.pop(0) if len(self._codes) > 1 else self._codes[0]

    def hang_up(self) -> None:
        raise AssertionError("it is not to be killed")


@pytest.mark.parametrize(
    ("code", "killed", "state", "reason"),
    [
        (3, False, TrialState.FAILED, "rank 1 exited with code 3"),
        (0, False, TrialState.FAILED, "rank 1 exited with code 0"),
        (-11, False, TrialState.FAILED, "rank 1 was killed by signal 11"),
        (-9, False, TrialState.FAILED, "rank 1 was killed by signal 9"),
        (-11, True, TrialState.FAILED, "rank 1 was killed by signal 11"),
        (
            -9, True, TrialState.INFEASIBLE,
            "out of memory: the kernel killed rank 1 at 3.1 GiB",
        ),
    ],
)  # fmt: skip
def test_an_exit_without_a_result(code: int, killed: bool, state: TrialState, reason: str) -> None:
    assert exit_ending("rank 1", code, telemetry(killed=killed)) == (state, reason)


@pytest.mark.parametrize(
    ("reason", "killed", "expected"),
    [
        (LOST, True, (TrialState.INFEASIBLE, f"out of memory at step 4: {LOST}")),
        (LOST, False, (TrialState.FAILED, LOST)),
        ("ValueError: no", True, (TrialState.FAILED, "ValueError: no")),
    ],
)
def test_a_worker_lost_while_the_kernel_killed_for_memory_is_infeasible(
    reason: str, killed: bool, expected: endings.Ending
) -> None:
    result = {"state": "failed", "reason": reason, "at": "at step 4"}
    assert result_ending(result, telemetry(killed=killed)) == expected


def test_the_rank_that_gave_up_tells_why(tmp_path: Path) -> None:
    log = tmp_path / "trial.log"
    write_reason(log, 2, "out of memory at step 1")
    ranks = [Rank(1), Rank(None, GAVE_UP)]
    assert infeasible_rank(ranks, log) == (
        TrialState.INFEASIBLE,
        "rank 2: out of memory at step 1",
    )


def test_ranks_that_all_failed_have_no_cause(tmp_path: Path) -> None:
    assert infeasible_rank([Rank(1), Rank(-6)], tmp_path / "trial.log") is None
    assert infeasible_rank([], tmp_path / "trial.log") is None


def test_a_rank_that_hangs_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endings, "RANKS_WITHIN_S", 0.1)
    assert infeasible_rank([Rank(None)], tmp_path / "trial.log") is None


COMPLETED = TrialResult(state=TrialState.COMPLETED, reason="", tags={"bound": "compute"})
FAILED = TrialResult(
    state=TrialState.FAILED, reason="it was killed\nits output", tags={"attempts": "2"}
)


def test_a_trial_that_ends_while_its_ceilings_are_measured_has_completed() -> None:
    row = keep_completed(COMPLETED, FAILED)
    assert row.state is TrialState.COMPLETED
    assert row.tags == {"bound": "compute", "no_ceilings": "it was killed"}


def test_an_ending_before_completion_stands() -> None:
    assert keep_completed(None, FAILED) is FAILED


FIRST = TrialResult(
    state=TrialState.COMPLETED,
    reason="",
    tags={"contaminated": "12 % went to others", "attempts": "1"},
)


def test_the_second_run_stands_where_it_completed() -> None:
    assert merge_rerun(FIRST, COMPLETED) is COMPLETED
    assert merge_rerun(None, FAILED) is FAILED


def test_the_contaminated_run_stands_where_the_second_did_not_complete() -> None:
    row = merge_rerun(FIRST, FAILED)
    assert row.state is TrialState.COMPLETED
    assert row.tags["rerun"] == (
        "contaminated: 12 % went to others; the second run was failed: it was killed"
    )
    assert row.tags["attempts"] == "2"


def test_a_rerun_says_why() -> None:
    assert rerun_tag(FIRST) == {"rerun": "contaminated: 12 % went to others"}
    assert rerun_tag(None) == {}

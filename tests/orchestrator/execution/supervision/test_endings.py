"""Endings of made-up processes; ``test_attempt.py`` has endings of real ones."""

from typing import Any, cast

import pytest

from orchestrator.execution.process.fork_client import RankEnd
from orchestrator.execution.supervision import endings
from orchestrator.execution.supervision.endings import (
    exit_ending,
    first_failure,
    keep_completed,
    merge_rerun,
    result_ending,
    with_measurements,
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


@pytest.mark.parametrize(
    ("code", "killed", "state", "reason"),
    [
        (3, False, TrialState.FAILED, "rank 1 exited with code 3"),
        (0, False, TrialState.FAILED, "rank 1 exited with code 0 before its training ended"),
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


def end(reason: str, at_s: float = 0.0, *, state: str = "failed", **more: bool) -> RankEnd:
    result: Any = {"state": TrialState(state), "reason": reason, "failed_at": at_s, **more}
    return RankEnd(code=0, result=result)


VICTIM = "RuntimeError: Connection closed by peer"


@pytest.mark.parametrize(
    ("ends", "state", "reason"),
    [
        pytest.param(
            # It has closed its connections before it reports the cause.
            {0: end(VICTIM, 1.0, lost_a_rank=True), 1: end("ValueError: unhappy", 2.0)},
            TrialState.FAILED, f"rank 1: ValueError: unhappy\nrank 0: {VICTIM}",
            id="of its own",
        ),
        pytest.param(
            {0: end("KeyError: 'b'", 3.0), 2: end("ValueError: a\nlong", 2.0)},
            TrialState.FAILED, "rank 2: ValueError: a\nlong\nrank 0: KeyError: 'b'",
            id="the first of two of their own",
        ),
        pytest.param(
            {0: end(VICTIM, 1.0, lost_a_rank=True), 3: RankEnd(code=0)},
            TrialState.FAILED,
            f"rank 3 exited with code 0 before its training ended\nrank 0: {VICTIM}",
            id="gone",
        ),
        pytest.param(
            {0: end("ValueError: unhappy"), 1: RankEnd(code=-6)},
            TrialState.FAILED, "rank 0: ValueError: unhappy\nrank 1 was killed by signal 6",
            id="a library has ended the other one",
        ),
        pytest.param(
            {0: end("ValueError: b", 1.0), 1: end("out of memory", 2.0, state="infeasible")},
            TrialState.INFEASIBLE, "rank 1: out of memory\nrank 0: ValueError: b",
            id="infeasible",
        ),
        pytest.param({2: RankEnd(code=7)}, TrialState.FAILED, "rank 2 exited with code 7", id="1"),
    ],
)  # fmt: skip
def test_the_rank_that_failed_by_its_own_cause_comes_first(
    ends: dict[int, RankEnd], state: TrialState, reason: str
) -> None:
    ending, _ = first_failure(ends, telemetry(killed=False))
    assert ending == (state, reason)


@pytest.mark.parametrize("again", [True, False])
def test_the_first_rank_decides_whether_another_attempt_may_help(again: bool) -> None:
    victim = end(VICTIM, lost_a_rank=True, again=True)
    assert first_failure({0: victim, 1: end("x", again=again)}, telemetry(killed=False))[1] is again
    assert first_failure({0: victim, 1: RankEnd(code=3)}, telemetry(killed=False))[1]


COMPLETED = TrialResult(state=TrialState.COMPLETED, reason="", tags={"bound": "compute"})
FAILED = TrialResult(
    state=TrialState.FAILED, reason="it was killed\nits output", tags={"attempts": "2"}
)


def test_a_trial_that_ends_while_its_ceilings_are_measured_has_completed() -> None:
    row = keep_completed(COMPLETED, FAILED)
    assert row.state is TrialState.COMPLETED
    assert row.tags == {"bound": "compute", "no_ceilings": "it was killed"}


FIRST = TrialResult(
    state=TrialState.COMPLETED,
    reason="",
    tags={"contaminated": "12 % went to others", "attempts": "1"},
)


def test_the_contaminated_run_counts_if_the_second_did_not_complete() -> None:
    row = merge_rerun(FIRST, FAILED)
    assert row.state is TrialState.COMPLETED
    assert row.tags["rerun"] == (
        "contaminated: 12 % went to others; the second run was failed: it was killed"
    )
    assert row.tags["attempts"] == "2"


def test_measurements_of_the_process_come_over_those_from_outside() -> None:
    row = TrialResult(
        state=TrialState.COMPLETED,
        metrics={"busy_cores": 1.0, "steps": 1.0},
        tags={"contaminated": "false"},
    )
    message = {"metrics": {"steps": 2.0}, "tags": {"bound": "loader"}, "blocks": [[1, 2]]}
    measured = with_measurements(row, message)
    assert measured.metrics == {"busy_cores": 1.0, "steps": 2.0}
    assert measured.tags == {"contaminated": "false", "bound": "loader"}
    assert with_measurements(measured, {}).blocks == [[1, 2]]

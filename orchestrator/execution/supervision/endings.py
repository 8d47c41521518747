"""From how a trial's processes ended to its state and reason."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.execution.process.failures import GAVE_UP, last_words, lost_a_worker
from orchestrator.execution.process.ranks import RankProcess
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.trial import TrialResult, TrialState

RANKS_WITHIN_S = 3.0
"""When one rank fails the others do as well, for want of it. So long one waits for the cause."""

Ending = tuple[TrialState, str]


def told(result: Mapping[str, Any], telemetry: Telemetry) -> Ending:
    """As the process itself said, also where the kernel took a loader worker for its memory."""
    state, reason = TrialState(result["state"]), str(result["reason"])
    if lost_a_worker(reason) and telemetry.out_of_memory():
        return TrialState.INFEASIBLE, f"out of memory {result['at']}: {reason}"
    return state, reason


def died(who: str, code: int | None, telemetry: Telemetry) -> Ending:
    """Of a process that ended without a word."""
    if code == -9 and telemetry.out_of_memory():
        reason = f"out of memory: the kernel killed {who} at {telemetry.peak_gib:.1f} GiB"
        return TrialState.INFEASIBLE, reason
    how = f"was killed by signal {-code}" if code and code < 0 else f"exited with code {code}"
    return TrialState.FAILED, f"{who} {how}"


def without_ceilings(completed: TrialResult | None, row: TrialResult) -> TrialResult:
    """``row``, or that of what had ``completed`` and ended while its ceilings were taken."""
    if completed is None or row.state is TrialState.COMPLETED:
        return row
    why = row.reason.strip().partition(chr(10))[0] or str(row.state)
    return replace(completed, tags={**completed.tags, "no_ceilings": why})


def rerun_tag(disturbed: TrialResult | None) -> dict[str, str]:
    """Why a trial was run again: what disturbed the run before; nothing where it was not."""
    if disturbed is None:
        return {}
    return {"rerun": f"contaminated: {disturbed.tags['contaminated']}"}


def of_two(disturbed: TrialResult | None, row: TrialResult) -> TrialResult:
    """The row of a trial that may have been run again because other load disturbed it.

    The second run's, whatever disturbed that. But what completed is not given up for what did
    not: the same load may be the cause of that, too.
    """
    if disturbed is None or row.state is TrialState.COMPLETED:
        return row
    became = f"{row.state}: {row.reason.strip().partition(chr(10))[0]}"
    why = f"{rerun_tag(disturbed)['rerun']}; the second run was {became}"
    tags = {**disturbed.tags, "rerun": why, "attempts": row.tags["attempts"]}
    return replace(disturbed, tags=tags)


def gave_up(others: Sequence[RankProcess], log: Path) -> Ending | None:
    """Of a trial that failed with one of these ranks, where that found the config infeasible."""
    waiting = dict(enumerate(others, start=1))
    deadline = time.monotonic() + RANKS_WITHIN_S
    while waiting and time.monotonic() < deadline:
        for index, other in list(waiting.items()):
            code = other.poll()
            if code == GAVE_UP:
                return TrialState.INFEASIBLE, f"rank {index}: {last_words(log, index)}"
            if code is not None:
                del waiting[index]
        time.sleep(0.05)
    return None

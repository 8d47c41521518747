"""Endings: state and reason of a trial, from the way its processes ended."""

from collections.abc import Mapping
from dataclasses import replace

from orchestrator.execution.process.failures import lost_a_worker
from orchestrator.execution.process.fork_client import RankEnd
from orchestrator.execution.process.messages import Figures, Result
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.texts import first_line
from orchestrator.trial import LOAD, TrialResult, TrialState

RANKS_WITHIN_S = 3.0
"""Longest wait for the rank that caused a failure: when one rank goes, the others fail in their
next collective operation, often before its exit status has arrived."""

Ending = tuple[TrialState, str]
"""State and reason."""


def result_ending(result: Result, telemetry: Telemetry) -> Ending:
    """Return the ending that the training process has reported itself.

    A trial that lost a loader worker while the kernel killed for memory is infeasible: the
    process itself sees only that the worker is gone.
    """
    state, reason = result["state"], result["reason"]
    if lost_a_worker(reason) and telemetry.out_of_memory():
        return TrialState.INFEASIBLE, f"out of memory {result.get('at', '')}: {reason}"
    return state, reason


def exit_ending(process: str, code: int | None, telemetry: Telemetry) -> Ending:
    """Return the ending of a process that exited, or was killed, without a result.

    Args:
        process: Its name, for the reason.
        code: Its exit code, negative for a signal.
        telemetry: Telemetry of the trial.
    """
    # Anyone may send SIGKILL: only the kernel's own count shows whether it was for memory.
    if code == -9 and telemetry.out_of_memory():
        reason = f"out of memory: the kernel killed {process} at {telemetry.peak_gib:.1f} GiB"
        return TrialState.INFEASIBLE, reason
    way = f"was killed by signal {-code}" if code and code < 0 else f"exited with code {code}"
    if code == 0:
        way += " before its training ended"
    return TrialState.FAILED, f"{process} {way}"


def first_failure(ends: Mapping[int, RankEnd], telemetry: Telemetry) -> tuple[Ending, bool]:
    """Return how a trial of several ranks failed: by the first failure that caused the others.

    The messages of the others follow in the reason. A rank without a result comes after ranks with
    one, since a library may have ended it because another rank was lost. Ranks that report a lost
    rank come last.

    Args:
        ends: Ends of the ranks that have failed, by their numbers; one at least.
        telemetry: Telemetry of the trial.

    Returns:
        Its ending, and True where another attempt may end otherwise.
    """
    endings = {index: _of_rank(index, ends[index], telemetry) for index in sorted(ends)}
    first, *others = sorted(endings, key=lambda index: _order(endings[index][0], ends[index]))
    state, reason = endings[first]
    reasons = [first_line(endings[index][1]) for index in others]
    result = ends[first].result
    return (state, "\n".join([reason, *reasons])), result is None or result.get("again", True)


def _of_rank(index: int, end: RankEnd, telemetry: Telemetry) -> Ending:
    if end.result is None:
        return exit_ending(f"rank {index}", end.code, telemetry)
    state, reason = result_ending(end.result, telemetry)
    return state, f"rank {index}: {reason}"


def _order(state: TrialState, end: RankEnd) -> tuple[bool, int, float]:
    """Return the sort key of a failed rank: failures that another attempt cannot mend are first."""
    if end.result is None:
        return state is not TrialState.INFEASIBLE, 1, 0.0
    kind = 2 if end.result.get("lost_a_rank") else 0
    return state is not TrialState.INFEASIBLE, kind, end.result.get("failed_at", 0.0)


def with_measurements(row: TrialResult, message: Figures) -> TrialResult:
    """Return ``row`` with the metrics, tags and block times that a process has sent."""
    return replace(
        row,
        metrics={**row.metrics, **message.get("metrics", {})},
        tags={**row.tags, **message.get("tags", {})},
        blocks=message.get("blocks", row.blocks),
    )


def keep_completed(completed: TrialResult | None, row: TrialResult) -> TrialResult:
    """Return ``row``, or ``completed`` if the trial had completed before it ended so.

    A trial's ceilings are measured after its training. If it dies there, the
    training stays valid: its row only lacks the ceilings, and has the reason.
    """
    if completed is None or row.state is TrialState.COMPLETED:
        return row
    why = first_line(row.reason) or str(row.state)
    return replace(completed, tags={**completed.tags, "no_ceilings": why})


def rerun_tag(first: TrialResult | None) -> dict[str, str]:
    """Return the tag that states why a trial with this first row was run again; empty for None."""
    return {} if first is None else {"rerun": f"{LOAD}: {first.disturbed}"}


def merge_rerun(first: TrialResult | None, row: TrialResult) -> TrialResult:
    """Return the row of a trial from the rows of its runs: the second run's if that completed.

    A disturbed row is better than none. The load that disturbed the first run may also be
    what ended the second.

    Args:
        first: Row of the disturbed first run, or None if there was one run.
        row: Row of the last run.
    """
    if first is None or row.state is TrialState.COMPLETED:
        return row
    ending = f"{row.state}: {first_line(row.reason)}"
    why = f"{rerun_tag(first)['rerun']}; the second run was {ending}"
    return replace(first, tags={**first.tags, "rerun": why, "attempts": row.tags["attempts"]})

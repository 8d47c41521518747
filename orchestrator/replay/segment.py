"""The part of a recorded run that a trial plays: what it reports when, and how it ends.

Whatever a trial could not have known by its end is not in it: a report later than that, a figure of
a later report. The machine's figures (memory, busy cores, other load) are taken over the whole
recorded run, since no report has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.measurement.blocks import Row
from orchestrator.metrics import FIRST_LOSS, is_learned
from orchestrator.replay.early_end import EarlyEnd, early_end, set_up_s
from orchestrator.replay.recorded import RecordedRun, ReplayError
from orchestrator.trial import Budget, Report, TrialState

OF_THE_WHOLE_RUN: Final = (
    "peak_rss_gib", "busy_cores", "foreign_share", "steal_share", "run_queue_share",
    "others_cores", "gpu_memory_gib", "gpu_util", "gpu_power_w", "gpu_clock_mhz",
    "gpu_slowed_share",
)  # fmt: skip
"""Figures of the telemetry, which a shorter run is given as well."""
_CEILINGS: Final = (
    "loader_only_samples_per_s", "compute_only_samples_per_s", "headroom", "bound", "no_ceilings",
    "idle",
)  # fmt: skip
"""Figures and verdicts of the ceilings, which a trial of speed alone does not measure."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """The part of a recorded run that one trial plays.

    Attributes:
        reports: Its reports; ``elapsed_s`` is since its own start.
        wall_s: Seconds from its start to its end.
        held_s: Seconds that it holds its cores.
        state: How it ends.
        reason: Why it is not completed.
        metrics: Its final figures.
        tags: Its final verdicts.
        blocks: Steps timed since its last report.
        num_reports: Reports of the run that are played by its end; a later trial of the same
            curve goes on behind them.
        too_short: Why the recorded run is too short for the trial, which must have been stopped
            by the end of this; empty where it is not.
    """

    reports: Sequence[Report]
    wall_s: float
    held_s: float
    state: TrialState
    reason: str
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    blocks: Sequence[Row] = ()
    num_reports: int = 0
    too_short: str = ""

    def stopped_at(self, report: Report) -> tuple[Mapping[str, float], Mapping[str, str]]:
        """Return figures and verdicts of the trial if it is stopped at one of its reports."""
        whole = {name: self.metrics[name] for name in OF_THE_WHOLE_RUN if name in self.metrics}
        return {**whole, **report.metrics}, {**self.tags, **report.tags}


def shortfall(run: RecordedRun, budget: Budget) -> str:
    """Return why ``run`` is too short for a trial of ``budget``; empty where it is not."""
    if run.ended_by_itself or _is_whole(run, budget):
        return ""
    recorded = run.budget
    ends_early = budget.half_width is not None or budget.steps is not None
    if recorded is not None and not ends_early:
        for name in ("half_width", "steps"):
            if (limit := getattr(recorded, name)) is not None:
                return f"it was recorded with {name}={limit:g} only"
    target = budget.pause_after or budget.epochs
    if any(report.epoch == target for report in run.reports):
        return ""
    if ends_early and run.reports and not _was_stopped_before(budget.steps, run):
        return ""
    epochs = f"{run.num_epochs} epoch{'s' * (run.num_epochs != 1)}"
    return f"it was recorded for {epochs}, and {target} are asked for"


def is_cut_short(run: RecordedRun) -> bool:
    """Return True where a search has stopped ``run``: it may be played up to there."""
    return run.state is TrialState.STOPPED and bool(run.reports)


def segment_of(
    run: RecordedRun,
    budget: Budget,
    *,
    burst: int = 1,
    ranks: int = 1,
    begun: int = 0,
    evaluate_test: bool = True,
) -> Segment:
    """Return what a trial of ``budget`` plays of ``run``.

    Of a run that a search has stopped, and that is too short, it plays what there is: the search
    may stop the trial by then.

    Args:
        run: The recorded run.
        budget: Of the trial.
        burst: Steps after which its loader's pattern repeats.
        ranks: Its training processes; several never end at a half width.
        begun: Reports of the run that earlier trials of the same curve have played.
        evaluate_test: False where the trial may not see what the run found on the test split.

    Raises:
        ReplayError: The run is shorter than the budget, and no search has stopped it.
    """
    why = shortfall(run, budget)
    if why and not is_cut_short(run):
        raise ReplayError(f"the recorded run is too short: {why}")
    run = run if budget.evaluated else _unevaluated(run)
    run = run if evaluate_test or not run.tested else _untested(run)
    if why:
        return replace(_rest(run, begun), too_short=why)
    within = replace(budget, half_width=None) if ranks > 1 else budget
    if (within.half_width or within.steps) and not _is_whole(run, budget) and run.reports:
        end = early_end(run, within, burst=burst)
        if end is not None and end.report.epoch <= (budget.pause_after or budget.epochs):
            return _ending_within_an_epoch(run, end, begun)
    return _ending_with_an_epoch(run, budget, begun)


def _was_stopped_before(steps: int | None, run: RecordedRun) -> bool:
    """Return True where a search has stopped ``run`` before so many steps."""
    return steps is not None and is_cut_short(run) and 0 < run.reports[-1].step < steps


def _is_whole(run: RecordedRun, budget: Budget) -> bool:
    """Return True where the run is the very one that a trial of ``budget`` makes."""
    recorded = run.budget or Budget(epochs=run.num_epochs)
    same = replace(recorded, pause_after=None, evaluated=True) == replace(
        budget, pause_after=None, evaluated=True
    )
    return same and budget.pause_after is None and run.state is TrialState.COMPLETED


def _ending_with_an_epoch(run: RecordedRun, budget: Budget, begun: int) -> Segment:
    target = budget.pause_after or budget.epochs
    count = sum(report.epoch <= target for report in run.reports)
    is_paused = budget.pause_after is not None and run.num_epochs >= target
    is_rest = count == len(run.reports) and not is_paused
    if is_rest and (run.ended_by_itself or _is_whole(run, budget)):
        return _rest(run, begun)
    reason = ""
    if budget.pause_after is not None and budget.pause_after < budget.epochs:
        reason = f"paused after {target} of {budget.epochs} epochs"
    state = TrialState.STOPPED if reason else TrialState.COMPLETED
    return _cut(run, run.reports[begun:count], begun, state=state, reason=reason)


def _ending_within_an_epoch(run: RecordedRun, end: EarlyEnd, begun: int) -> Segment:
    reports = [*run.reports[begun : end.num_reports], end.report]
    return _cut(run, reports, begun, state=TrialState.COMPLETED, reason="")


def _rest(run: RecordedRun, begun: int) -> Segment:
    """Return all of the run that is left."""
    shift_s = _shift_s(run, begun)
    wall_s = run.wall_s + shift_s
    after_s = max((run.held_s or 0.0) - run.wall_s, 0.0)
    return Segment(
        reports=[_shifted(report, shift_s, run, begun) for report in run.reports[begun:]],
        wall_s=wall_s,
        held_s=wall_s + after_s,
        state=run.state,
        reason=run.reason,
        metrics=run.metrics,
        tags=run.tags,
        blocks=run.last_blocks,
        num_reports=len(run.reports),
    )


def _cut(
    run: RecordedRun, reports: Sequence[Report], begun: int, *, state: TrialState, reason: str
) -> Segment:
    """Return a part of the run that ends with the last of ``reports``."""
    shift_s = _shift_s(run, begun)
    last = reports[-1] if reports else run.reports[begun - 1]
    wall_s = max(last.elapsed_s + shift_s, 0.0) + _process_s(run)
    whole = {name: run.metrics[name] for name in OF_THE_WHOLE_RUN if name in run.metrics}
    first_loss = {FIRST_LOSS: run.metrics[FIRST_LOSS]} if FIRST_LOSS in run.metrics else {}
    return Segment(
        reports=[_shifted(report, shift_s, run, begun) for report in reports],
        wall_s=wall_s,
        held_s=wall_s,
        state=state,
        reason=reason,
        metrics={**whole, **first_loss, **last.metrics},
        tags={**run.tags, **last.tags},
        num_reports=begun + len(reports),
    )


def _process_s(run: RecordedRun) -> float:
    """Return what a completed run took beside its reports: start and end of its process."""
    if run.state is not TrialState.COMPLETED or not run.reports:
        return 0.0
    return max(run.wall_s - run.reports[-1].elapsed_s, 0.0)


def _shift_s(run: RecordedRun, begun: int) -> float:
    """Return what is added to the run's times for a trial that goes on from a pause.

    It is set up again, but it does not train again what is in the checkpoint.
    """
    return set_up_s(run) - run.reports[begun - 1].elapsed_s if begun else 0.0


def _shifted(report: Report, shift_s: float, run: RecordedRun, begun: int) -> Report:
    if not begun:
        return report
    return replace(
        report,
        elapsed_s=report.elapsed_s + shift_s,
        restored_epochs=run.reports[begun - 1].epoch,
    )


def _unevaluated(run: RecordedRun) -> RecordedRun:
    """Return the run without its evaluations: neither what they took nor what they found.

    Nor has it the ceilings that are measured after an evaluated run.
    """
    was_evaluated = run.budget is None or run.budget.evaluated
    spent_s = run.metrics.get("eval_s", 0.0)
    reports = [
        replace(
            report,
            elapsed_s=max(report.elapsed_s - report.metrics.get("eval_s", 0.0), 0.0),
            metrics=_of_speed(report.metrics),
        )
        for report in run.reports
    ]
    return replace(
        run,
        reports=reports,
        wall_s=max(run.wall_s - spent_s, 0.0),
        held_s=None if was_evaluated else run.held_s,
        metrics=_of_speed(run.metrics),
        tags={name: tag for name, tag in run.tags.items() if name not in _CEILINGS},
    )


def _untested(run: RecordedRun) -> RecordedRun:
    """Return the run without its figures of the test split."""
    reports = [replace(report, metrics=_not_of_test(report.metrics)) for report in run.reports]
    return replace(run, reports=reports, metrics=_not_of_test(run.metrics))


def _not_of_test(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if not name.startswith("test_")}


def _of_speed(metrics: Mapping[str, float]) -> dict[str, float]:
    return {
        name: value
        for name, value in metrics.items()
        if name == FIRST_LOSS or not (name in ("eval_s", *_CEILINGS) or is_learned(name))
    }

"""The part of a recorded run that a trial plays: what it reports when, and how it ends.

A trial's figures are those of its last report: later ones were not known by its end. The machine's
figures (memory, busy cores, other load) are of the whole recorded run, since no report has them.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from orchestrator.metrics import FIRST_LOSS, is_learned
from orchestrator.replay.recorded import RecordedRun, ReplayError
from orchestrator.trial import Budget, Report, TrialState

OF_THE_WHOLE_RUN: Final = (
    "peak_rss_gib", "busy_cores", "foreign_share", "steal_share", "run_queue_share",
    "others_cores", "gpu_memory_gib", "gpu_util", "gpu_power_w", "gpu_clock_mhz",
    "gpu_slowed_share",
)  # fmt: skip
"""Figures of the telemetry, which a shorter run has as well."""
_OF_EVALUATED: Final = (
    "eval_s", "loader_only_samples_per_s", "compute_only_samples_per_s", "headroom", "bound",
    "no_ceilings", "idle",
)  # fmt: skip
"""Time of evaluations; figures and verdicts of the ceilings, which follow an evaluated run."""


def stopped_at(part: RecordedRun, report: Report) -> RecordedRun:
    """Return the part of a run that a trial has played if it is stopped at one of its reports."""
    part = _with_figures_of(report, part, OF_THE_WHOLE_RUN)
    return replace(part, state=TrialState.STOPPED, wall_s=report.elapsed_s)


def _with_figures_of(last: Report, run: RecordedRun, kept: Sequence[str]) -> RecordedRun:
    """Return the run with the figures of its last report, and those of its own in ``kept``."""
    whole = {name: run.metrics[name] for name in kept if name in run.metrics}
    tags = {**run.tags, **last.tags}
    return replace(run, reason="", metrics={**whole, **last.metrics}, tags=tags)


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
    if any(report.epoch == budget.end for report in run.reports):
        return ""
    is_before_end = run.was_stopped and 0 < run.reports[-1].step < (budget.steps or 0)
    if ends_early and run.reports and not is_before_end:
        return ""
    epochs = f"{run.num_epochs} epoch{'s' * (run.num_epochs != 1)}"
    return f"it was recorded for {epochs}, and {budget.end} are asked for"


def segment_of(
    run: RecordedRun, budget: Budget, *, begun: int = 0, evaluate_test: bool = True
) -> RecordedRun:
    """Return the part of ``run`` that a trial of ``budget`` plays, on the trial's own clock.

    A run that a search stopped, and that is too short, is played to its end: the search may stop
    the trial by then. A trial with a half width plays the run to its end.

    Args:
        run: The recorded run.
        budget: Budget of the trial.
        begun: Reports of the run that earlier trials of the same curve have played.
        evaluate_test: False where the trial may not have figures of the test split.

    Raises:
        ReplayError: The run is shorter than the budget, and no search stopped it.
    """
    why = shortfall(run, budget)
    if why and not run.was_stopped:
        raise ReplayError(f"the recorded run is too short: {why}")
    run = run if budget.evaluated else _unevaluated(run)
    if not evaluate_test and any(name.startswith("test_") for name in run.metrics):
        run = run.only(lambda name: not name.startswith("test_"))
    if why:
        return _part(run, None, begun)
    if budget.steps and not _is_whole(run, budget) and run.reports:
        end = end_of_steps(run, budget.steps)
        if end is not None and end[1].epoch <= budget.end:
            return _part(run, [*run.reports[begun : end[0]], end[1]], begun)
    return _ending_with_an_epoch(run, budget, begun)


def _is_whole(run: RecordedRun, budget: Budget) -> bool:
    """Return True where the run is the very one that a trial of ``budget`` makes."""
    recorded = run.budget or Budget(epochs=run.num_epochs)
    same = replace(recorded, evaluated=True) == replace(budget, evaluated=True)
    return same and run.state is TrialState.COMPLETED


def _ending_with_an_epoch(run: RecordedRun, budget: Budget, begun: int) -> RecordedRun:
    count = sum(report.epoch <= budget.end for report in run.reports)
    is_rest = count == len(run.reports) and not (budget.is_part and run.num_epochs >= budget.end)
    if is_rest and (run.ended_by_itself or _is_whole(run, budget)):
        return _part(run, None, begun)
    state, reason = budget.ending
    return replace(_part(run, run.reports[begun:count], begun), state=state, reason=reason)


def _part(run: RecordedRun, reports: Sequence[Report] | None, begun: int) -> RecordedRun:
    """Return the part of the run that ends with the last of ``reports``; None: all that is left.

    A trial that continues after a pause is set up again, but it does not train again the epochs of
    the checkpoint.
    """
    played = run.reports[begun:] if reports is None else reports
    shift_s = 0.0
    if begun:
        before = run.reports[begun - 1]
        shift_s, epoch = set_up_s(run) - before.elapsed_s, before.epoch
        played = [
            replace(r, elapsed_s=r.elapsed_s + shift_s, restored_epochs=epoch) for r in played
        ]
    if reports is None:
        return replace(run, reports=played, wall_s=run.wall_s + shift_s)
    last = reports[-1] if reports else run.reports[begun - 1]
    wall_s = max(last.elapsed_s + shift_s, 0.0)
    if run.state is TrialState.COMPLETED:  # start and end of its process
        wall_s += max(run.wall_s - run.reports[-1].elapsed_s, 0.0)
    run = _with_figures_of(last, run, (*OF_THE_WHOLE_RUN, FIRST_LOSS))
    state = TrialState.COMPLETED
    return replace(run, reports=played, wall_s=wall_s, ceilings_s=0.0, state=state)


def set_up_s(run: RecordedRun) -> float:
    """Return the seconds before its first epoch, from its first report; 0 if that has no time."""
    first = run.reports[0]
    if "train_s" not in first.metrics:
        return 0.0
    return max(first.elapsed_s - first.metrics["train_s"] - _eval_s(first), 0.0)


def _eval_s(report: Report | None) -> float:
    return report.metrics.get("eval_s", 0.0) if report else 0.0


def _unevaluated(run: RecordedRun) -> RecordedRun:
    """Return the run without the time and the findings of its evaluations, and no ceilings."""
    was_evaluated = run.budget is None or run.budget.evaluated
    reports = [replace(r, elapsed_s=max(r.elapsed_s - _eval_s(r), 0.0)) for r in run.reports]
    faster = replace(
        run,
        reports=reports,
        wall_s=max(run.wall_s - run.metrics.get("eval_s", 0.0), 0.0),
        ceilings_s=0.0 if was_evaluated else run.ceilings_s,
    )
    return faster.only(
        lambda name: name == FIRST_LOSS or not (name in _OF_EVALUATED or is_learned(name))
    )


def end_of_steps(run: RecordedRun, steps: int) -> tuple[int, Report] | None:
    """Return where ``run`` has trained so many steps; None: not before its own end.

    It lies in proportion between two reports, with the speed of the later one.

    Returns:
        The number of reports before, and the report there in the place of the epoch's.
    """
    for index, report in enumerate(run.reports):
        # A table that was made may count no steps: then the first report is the end.
        if report.step and report.step < steps:
            continue
        before = run.reports[index - 1] if index else None
        began_s = before.elapsed_s if before else set_up_s(run)
        ended_s = report.elapsed_s - _eval_s(report) + _eval_s(before)
        num_before = before.step if before else 0
        share = (steps - num_before) / (report.step - num_before) if report.step else 1.0
        timed = {name: value for name, value in report.metrics.items() if not is_learned(name)}
        evaluated = {"eval_s": _eval_s(before)} if _eval_s(before) else {}
        partial = Report(
            step=steps if report.step else 0,
            epoch=report.epoch,
            samples=round(report.samples * (steps / report.step if report.step else 1.0)),
            elapsed_s=began_s + share * max(ended_s - began_s, 0.0),
            metrics={**timed, **evaluated},
            tags=report.tags,
        )
        return index, partial
    return None

"""The step at which a recorded run of speed alone would have ended.

A trial whose budget has a ``half_width`` or a number of ``steps`` ends within an epoch. The rule
that ends a measured one is asked at the end of each recorded block of steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orchestrator.measurement.blocks import Block, Row
from orchestrator.measurement.throughput import (
    GROWTH,
    HALF_WIDTH,
    MIN_BLOCKS,
    MIN_STEPS,
    StopRule,
    measure_throughput,
)
from orchestrator.metrics import is_learned
from orchestrator.replay.recorded import RecordedRun
from orchestrator.trial import Budget, Report


@dataclass(frozen=True, kw_only=True)
class EarlyEnd:
    """An end within an epoch.

    Attributes:
        num_reports: Reports of the run before it.
        report: The report at the end, in the place of the one that ended the epoch.
    """

    num_reports: int
    report: Report


def early_end(run: RecordedRun, budget: Budget, *, burst: int) -> EarlyEnd | None:
    """Return where ``run`` would have ended with ``budget``; None: not before its own end.

    Args:
        run: The recorded run.
        budget: One with a half width or a number of steps.
        burst: Steps after which the loader's pattern repeats.
    """
    if any(report.blocks for report in run.reports):
        return _by_blocks(run, budget, burst)
    return _by_steps(run, budget, burst)


def set_up_s(run: RecordedRun) -> float:
    """Return the seconds before its first epoch, as its first report tells; 0 if it does not."""
    first = run.reports[0]
    if "train_s" not in first.metrics:
        return 0.0
    of_epoch = first.metrics["train_s"] + first.metrics.get("eval_s", 0.0)
    return max(first.elapsed_s - of_epoch, 0.0)


def _by_blocks(run: RecordedRun, budget: Budget, burst: int) -> EarlyEnd | None:
    rule = None if budget.half_width is None else StopRule(budget.half_width, burst=burst)
    blocks, rows, index, num_steps = list[Block](), list[Row](), 0, 0
    for at, row in _rows(run):
        rows = [*rows, row] if at == index else [row]
        index = at
        blocks.append(Block.from_row(row))
        num_steps += blocks[-1].num_steps
        enough = budget.steps is not None and num_steps >= budget.steps
        if rule is not None and rule.is_due(num_steps):
            enough |= rule.is_enough(num_steps, blocks)
        if enough:
            return EarlyEnd(num_reports=index, report=_partial(run, index, blocks, rows))
    return None


def _rows(run: RecordedRun) -> Iterator[tuple[int, Row]]:
    """Yield the blocks that reports came with, each with the index of its report."""
    for index, report in enumerate(run.reports):
        for row in report.blocks:
            yield index, row


def _partial(run: RecordedRun, index: int, blocks: list[Block], rows: list[Row]) -> Report:
    """Return the report of a run that ends with ``blocks``: nothing later is in it."""
    before = run.reports[index - 1] if index else None
    began_s = before.elapsed_s if before else set_up_s(run)
    trained_s = sum(row[4] for row in rows)
    metrics, tags = _speed(blocks)
    return Report(
        step=sum(block.num_steps for block in blocks),
        epoch=run.reports[index].epoch,
        samples=sum(block.samples for block in blocks),
        elapsed_s=began_s + trained_s,
        metrics={
            **metrics,
            "train_s": sum(block.duration_s for block in blocks),
            **_evaluated(before),
        },
        tags=tags,
        blocks=tuple(rows),
    )


def _speed(blocks: list[Block]) -> tuple[Mapping[str, float], Mapping[str, str]]:
    throughput = measure_throughput(blocks)
    if throughput is None:
        return {}, {}
    seconds = sum(block.duration_s for block in throughput.steady)
    num_steps = sum(block.num_steps for block in throughput.steady)
    metrics = {"samples_per_s": throughput.rate, "step_ms": 1000 * seconds / num_steps}
    tags = {"rate": "epochs" if throughput.is_of_whole_epochs else "steady"}
    if throughput.low is not None and throughput.high is not None:
        metrics["samples_per_s_within_low"] = throughput.low
        metrics["samples_per_s_within_high"] = throughput.high
    if (width := throughput.half_width) is not None:
        tags["interval"] = "narrow" if width <= HALF_WIDTH else "wide"
    return metrics, tags


def _by_steps(run: RecordedRun, budget: Budget, burst: int) -> EarlyEnd | None:
    """Return the end without recorded blocks: at the rule's earliest, between two reports."""
    needed = budget.steps or _earliest(burst)
    for index, report in enumerate(run.reports):
        # A table that was made may count no steps: then the first report is the end.
        if report.step and report.step < needed:
            continue
        before = run.reports[index - 1] if index else None
        began_s = before.elapsed_s if before else set_up_s(run)
        ended_s = report.elapsed_s - _eval_s(report) + (_eval_s(before) if before else 0.0)
        num_before = before.step if before else 0
        share = (needed - num_before) / (report.step - num_before) if report.step else 1.0
        partial = Report(
            step=needed if report.step else 0,
            epoch=report.epoch,
            samples=round(report.samples * (needed / report.step if report.step else 1.0)),
            elapsed_s=began_s + share * max(ended_s - began_s, 0.0),
            metrics={**_timed(report), **_evaluated(before)},
            tags=report.tags,
        )
        return EarlyEnd(num_reports=index, report=partial)
    return None


def _earliest(burst: int) -> int:
    """Return the steps of the second analysis, at which the rule may end a run at the earliest."""
    return int(max(MIN_STEPS, MIN_BLOCKS * 2 * burst) * GROWTH) + 1


def _eval_s(report: Report) -> float:
    return report.metrics.get("eval_s", 0.0)


def _timed(report: Report) -> dict[str, float]:
    """Return the figures of speed: what is learned by the end of the epoch is not known yet."""
    return {name: value for name, value in report.metrics.items() if not is_learned(name)}


def _evaluated(before: Report | None) -> dict[str, float]:
    """Return the time of the evaluations before this epoch."""
    return {"eval_s": _eval_s(before)} if before and _eval_s(before) else {}

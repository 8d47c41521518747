"""The live view's content: progress, the machine, the best configs, the running trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.columns import Columns
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from orchestrator.formats import clock, counted
from orchestrator.storage.history import TrialHistory
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.tracking.console.log import (
    BOLD,
    COLOURS,
    NOTE,
    QUIET,
    SPEED,
    differing,
    figures,
    label,
    named_figure,
    wait,
)
from orchestrator.tracking.console.progress import (
    BestSoFar,
    GpuLoad,
    Load,
    Progress,
    phase_of,
    share_done,
)
from orchestrator.trial import TrialState

MAX_RUNNING = 5
BUSY_CORES = 0.25
"""Cores' worth of time of other processes from which on their load is marked."""
_LEAST_BAR, _MOST_BAR = 10, 40
_WIDE = 60
"""Columns from which on the knobs alone are broken into lines, not the figures."""


def block(
    now: Progress, best: BestSoFar, *, elapsed_s: float, width: int, load: Load | None = None
) -> Iterator[RenderableType]:
    """Yield the view. What matters least comes last, where a low terminal cuts it off.

    Args:
        now: The progress of the sweep.
        best: Its best configs so far.
        elapsed_s: Time since this process began with it.
        width: Columns of the terminal.
        load: The machine's load, or None where it is not known.
    """
    yield from _overall(now, elapsed_s, width)
    yield _joined(_states(now))
    waits: dict[str, list[TrialHistory]] = {}
    for trial in now.held_up:
        waits.setdefault(trial.waits_for, []).append(trial)
    for first, *more in waits.values():
        yield Text(wait(first, len(more)), style="yellow")
    if machine := list(_machine(now, load)):
        yield _joined(machine)
    if best.leaders:
        yield from _leaders(best, now.history.sweep, width)
    if now.running:
        yield from _running(now, width)


def _joined(texts: Iterable[Text]) -> Text:
    return Text("  ").join(texts)


# -- progress


def _overall(now: Progress, elapsed_s: float, width: int) -> Iterator[RenderableType]:
    """Yield the bar and the counts, in one line where there is room."""
    counts = _joined(_counts(now, elapsed_s))
    if not now.num_total:
        yield counts
        return
    room = width - counts.cell_len - 2
    bar = ProgressBar(
        total=now.num_total,
        completed=now.num_done + sum(map(share_done, now.running)),
        width=min(room if room >= _LEAST_BAR else width, _MOST_BAR),
        complete_style="green",
        finished_style="green",
    )
    yield Columns([bar, counts], padding=(0, 2))


def _counts(now: Progress, elapsed_s: float) -> Iterator[Text]:
    planned = now.history.sweep.num_planned
    of = "" if planned is None else f" of {max(planned, now.num_done)}"
    yield Text(f"{now.num_done}{of} done")
    yield Text(f"{clock(elapsed_s)} so far")
    if now.left_s is not None:
        yield Text(f"about {clock(now.left_s)} left")
    elif planned is None or now.num_waiting or now.running:
        yield Text("time left not known", style=QUIET)


def _states(now: Progress) -> Iterator[Text]:
    if now.is_stopping:
        yield Text("stopping:", style=NOTE)
    else:
        yield Text(f"{phase_of(now)}:", style=BOLD)
    for state in TrialState:
        if count := now.history.states[state]:
            yield Text(f"{count} {state.replace('_', ' ')}", style=COLOURS[state])
    yield Text(f"{len(now.running)} running", style=BOLD)
    if now.num_waiting is not None:
        yield Text(f"{now.num_waiting} to come", style=QUIET)


# -- the machine


def _machine(now: Progress, load: Load | None) -> Iterator[Text]:
    """Yield the cores that trials hold, what keeps the machine's cores busy, and its GPUs."""
    # Interleaved trials have the same cores.
    interleaved = [trial.cores or 0 for trial in now.running if trial.trial.interleaved]
    others = sum(trial.cores or 0 for trial in now.running if not trial.trial.interleaved)
    held = others + max(interleaved, default=0)
    if load is None:
        if held:
            yield Text(f"cores: {held} held by trials", style=QUIET)
        return
    yield Text(f"cores: {held} of {load.num_cores} held by trials", style=QUIET)
    yield Text(f"this sweep uses {load.own:.1f}", style=QUIET)
    style = NOTE if load.others >= BUSY_CORES else QUIET
    yield Text(f"other processes use {load.others:.1f}", style=style)
    for number, gpu in enumerate(load.gpus):
        yield Text(_gpu(number, gpu), style=QUIET)


def _gpu(number: int, gpu: GpuLoad) -> str:
    busy = "" if gpu.busy_share is None else f"{100 * gpu.busy_share:.0f} % busy, "
    return f"GPU {number}: {busy}{gpu.used_gib:.1f} of {gpu.total_gib:.0f} GiB"


# -- the best configs


def _leaders(best: BestSoFar, sweep: SweepRecord, width: int) -> Iterator[RenderableType]:
    """Yield the leading configs: title, speed, over the baseline's, objectives, knobs."""
    metrics = [each.metric for each in sweep.objectives if each.metric != SPEED]
    whole = width >= _WIDE
    table = Table.grid(Column(style="green", no_wrap=whole), padding=(0, 2))
    for _ in ("speed", "ratio", *metrics):
        table.add_column(justify="right", no_wrap=whole)
    table.add_column()
    ratios = []
    for leader in best.leaders:
        known = leader.figures
        speed = known.get(SPEED)
        ratios.append(f"{speed / best.baseline:.2f}x" if speed and best.baseline else "")
        table.add_row(
            f"  {leader.title}",
            "" if speed is None else named_figure(SPEED, speed),
            ratios[-1],
            *(named_figure(name, known[name]) if name in known else "" for name in metrics),
            "  ".join(differing(leader.config, sweep.baseline, sweep.space)),
        )
    front = "" if best.num_front is None else f", {counted(best.num_front, 'config')} on the front"
    ratio = "  (x: times the baseline, unconfirmed)" if any(ratios) else ""
    yield Text(f"best so far{front}{ratio}", style=QUIET)
    yield table


# -- the running trials


def _running(now: Progress, width: int) -> Iterator[RenderableType]:
    """Yield the running trials, each with its activity and its time so far."""
    history, running = now.history, now.running
    shown = running[:MAX_RUNNING]
    few = "" if len(shown) == len(running) else f" {len(running)}, of which the first are"
    yield Text(f"running{few}", style=QUIET)
    whole = width >= _WIDE
    first = Column(style=QUIET, no_wrap=whole), Column(style=BOLD, no_wrap=whole)
    table = Table.grid(*first, Column(justify="right", no_wrap=whole), Column(), padding=(0, 2))
    for trial in shown:
        title, *knobs = label(trial, history)
        where = [f"on {trial.node}"] if len(history.nodes) > 1 else []
        age = clock(now.at - (trial.started_at or now.at))
        rest = "  ".join([*figures(trial, history), *knobs, *where])
        table.add_row(f"  {title}", _activity(trial), age, rest)
    yield table


def _activity(trial: TrialHistory) -> str:
    """Return what a running trial does, as far as its reports show it."""
    slices = ", in time slices" if trial.trial.interleaved else ""
    if not trial.reports:
        return f"loading, first epoch{slices}"
    if share_done(trial) >= 1:
        return "all epochs done, ending"
    budget, report = trial.trial.budget, trial.reports[-1][1]
    if budget.steps and report.epoch * budget.steps <= report.step * budget.epochs:
        return f"{report.step} of {budget.steps} steps{slices}"
    return f"{report.epoch} of {counted(budget.epochs, 'epoch')}{slices}"

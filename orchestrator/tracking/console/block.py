"""The live view as lines of text, for a width and a height."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.text import Text

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console.best import Best, BestSoFar
from orchestrator.tracking.console.flow import GAP, flowed
from orchestrator.tracking.console.load import GpuLoad, Load
from orchestrator.tracking.console.log import figures, label, wait
from orchestrator.tracking.console.phases import phase_of
from orchestrator.tracking.console.progress import Progress, share_done
from orchestrator.tracking.console.wording import (
    SPEED,
    counted,
    differing,
    duration,
    named_figure,
    printable,
)
from orchestrator.trial import TrialState

COLOURS = {
    TrialState.COMPLETED: "green",
    TrialState.STOPPED: "cyan",
    TrialState.INFEASIBLE: "yellow",
    TrialState.FAILED: "red",
    TrialState.NOT_RUN: "bright_black",
}
QUIET = "dim"
MAX_RUNNING = 5
BUSY_CORES = 0.25
"""Cores' worth of time of other processes from which on their load is marked."""
_LEAST_BAR, _MOST_BAR = 10, 40
_WIDE = 60
"""Columns from which on there is room to explain."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Content of the live view.

    Attributes:
        history: The sweep so far.
        now: Its progress.
        best: Its best configs so far.
        elapsed_s: Time since this process began with it.
        at: Unix time, simulated in a replay.
        load: The machine's load, or None where it is not known.
        stopping: What happens after an interrupt; empty without one.
        ascii_only: True where the terminal has no other characters.
    """

    history: SweepHistory
    now: Progress
    best: BestSoFar
    elapsed_s: float
    at: float
    load: Load | None = None
    stopping: str = ""
    ascii_only: bool = False


@dataclass(frozen=True, kw_only=True)
class _Item:
    """Lines that are shown together or not at all; the higher its rank, the sooner it goes."""

    lines: list[Text] = field(default_factory=list)
    rank: int = 0


def block(scene: Scene, width: int, height: int) -> list[Text]:
    """Return the lines of the view, none wider than ``width``, at most ``height`` of them.

    Where there is no room for all, it drops running trials first, then the leaders behind the
    first one, then the machine's load.
    """
    items = list(_items(scene, width))
    while sum(len(item.lines) for item in items) > height:
        most = max(items, key=lambda item: item.rank)
        if not most.rank:
            break
        items.remove(most)
    return [line for item in items for line in item.lines][: max(1, height)]


def _items(scene: Scene, width: int) -> Iterator[_Item]:
    history, now = scene.history, scene.now
    yield _Item(lines=_overall(scene, width))
    yield _Item(lines=flowed(_states(scene), width))
    waits: dict[str, list[TrialHistory]] = {}
    for trial in now.held_up:
        waits.setdefault(trial.waits_for, []).append(trial)
    for number, (first, *more) in enumerate(waits.values()):
        lines = flowed([Text(wait(first, len(more)), style="yellow")], width)
        yield _Item(lines=lines, rank=30 if number else 0)
    machine = list(_machine(history, now, scene.load))
    yield _Item(lines=flowed(machine, width), rank=8)
    yield from _leaders(scene, width)
    yield from _running(scene, width)


# -- progress


def _overall(scene: Scene, width: int) -> list[Text]:
    words = list(_counts(scene))
    room = width - sum(len(word) + GAP for word in words)
    share = _share(scene.now)
    if share is None:
        return flowed(words, width)
    if room >= _LEAST_BAR:
        bar = _bar(share, min(room, _MOST_BAR), ascii_only=scene.ascii_only)
        return flowed([bar, *words], width)
    return [_bar(share, min(width, _MOST_BAR), ascii_only=scene.ascii_only), *flowed(words, width)]


def _counts(scene: Scene) -> Iterator[Text]:
    now, planned = scene.now, scene.history.sweep.num_planned
    if planned is None:
        yield Text(f"{now.num_done} done")
    elif now.num_done > planned:
        yield Text(f"{now.num_done} done, {planned} planned")
    else:
        yield Text(f"{now.num_done} of {planned} done")
    yield Text(f"{duration(scene.elapsed_s)} so far")
    if now.left_s is not None:
        guess = ", by what is planned" if now.left_is_planned else ""
        yield Text(f"about {duration(now.left_s)} left{guess}")
    elif planned is None:
        yield Text("time left not known: the search decides", style=QUIET)
    elif now.num_waiting or now.running:
        yield Text("time left not known yet", style=QUIET)


def _share(now: Progress) -> float | None:
    """Return the share of the planned trials that is done; None where none are planned."""
    if not now.num_total:
        return None
    begun = sum(share_done(trial) for trial in now.running)
    return min(1.0, (now.num_done + begun) / now.num_total)


def _bar(share: float, width: int, *, ascii_only: bool) -> Text:
    full, rest = ("#", "-") if ascii_only else ("━", "─")
    filled = int(width * share)
    return Text(full * filled, style="green").append(rest * (width - filled), style=QUIET)


def _states(scene: Scene) -> Iterator[Text]:
    now = scene.now
    if scene.stopping:
        yield Text(scene.stopping, style="bold yellow")
    else:
        yield Text(f"{phase_of(scene.history, now)}:", style="bold")
    for state in TrialState:
        if count := now.states[state]:
            yield Text(f"{count} {state.replace('_', ' ')}", style=COLOURS[state])
    yield Text(f"{len(now.running)} running", style="bold")
    if now.num_waiting is not None:
        yield Text(f"{now.num_waiting} to come", style=QUIET)


# -- the machine


def _machine(history: SweepHistory, now: Progress, load: Load | None) -> Iterator[Text]:
    """Yield the cores that trials hold, what keeps the machine's cores busy, and its GPUs."""
    held = _held_cores(now)
    if load is None:
        if held:
            yield Text(f"cores: {held} held by trials", style=QUIET)
        return
    yield Text(f"cores: {held} of {load.num_cores} held by trials", style=QUIET)
    yield Text(f"this sweep uses {load.own:.1f}", style=QUIET)
    others = f"other processes use {load.others:.1f}"
    yield Text(others, style="bold yellow" if load.others >= BUSY_CORES else QUIET)
    for number, gpu in enumerate(load.gpus):
        yield Text(_gpu(number, gpu), style=QUIET)


def _held_cores(now: Progress) -> int:
    """Return the cores of the running trials; interleaved ones have the same."""
    interleaved = [trial.cores or 0 for trial in now.running if trial.trial.interleaved]
    return sum(trial.cores or 0 for trial in now.running if not trial.trial.interleaved) + max(
        interleaved, default=0
    )


def _gpu(number: int, gpu: GpuLoad) -> str:
    busy = "" if gpu.busy_share is None else f"{100 * gpu.busy_share:.0f} % busy, "
    return f"GPU {number}: {busy}{gpu.used_gib:.1f} of {gpu.total_gib:.0f} GiB"


# -- the best configs


def _leaders(scene: Scene, width: int) -> Iterator[_Item]:
    best, sweep = scene.best, scene.history.sweep
    if not best.leaders:
        return
    metrics = [each.metric for each in sweep.objectives if each.metric != SPEED]
    rows = [list(_leader(leader, metrics, best.baseline)) for leader in best.leaders]
    texts = [cell for row in rows for cell in row]
    front = "" if best.num_front is None else f", {counted(best.num_front, 'config')} on the front"
    has_ratio = width >= _WIDE and any(text.endswith("x") for text in texts)
    ratio = "(x: times the baseline, unconfirmed)" if has_ratio else ""
    head = [f"best so far{front}", ratio]
    yield _Item(lines=flowed([Text(part, style=QUIET) for part in head], width), rank=0)
    columns = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = sum(columns) + GAP * len(columns) + 20 <= width
    for number, (leader, row) in enumerate(zip(best.leaders, rows, strict=True)):
        cells = [_cell(text, columns[at] if aligned else 0, at) for at, text in enumerate(row)]
        knobs = [*map(Text, differing(leader.config, sweep.baseline, sweep.space))]
        lines = flowed([*cells, *knobs], width)
        if len(lines) > 1:  # the knobs below the figures, not some of them beside
            lines = flowed(cells, width, indent=4)
            lines += flowed([Text("   "), *knobs], width, indent=5)
        yield _Item(lines=lines, rank=8 + number if number else 0)


def _leader(leader: Best, metrics: Sequence[str], baseline: float | None) -> Iterator[str]:
    """Yield the cells of a leader: its title, its speed, over the baseline's, its figures."""
    speed = leader.figures.get(SPEED)
    yield f"  {leader.title}"
    yield "" if speed is None else named_figure(SPEED, speed)
    yield f"{speed / baseline:.2f}x" if speed and baseline else ""
    yield from (_named(metric, leader.figures) for metric in metrics)


def _named(metric: str, known: Mapping[str, float]) -> str:
    return named_figure(metric, known[metric]) if metric in known else ""


def _cell(text: str, width: int, position: int) -> Text:
    if position == 0:
        return Text(f"{text:<{width}}", style="green")
    return Text(f"{text:>{width}}")


# -- the running trials


def _running(scene: Scene, width: int) -> Iterator[_Item]:
    """Yield the running trials, each with what it does and for how long it has run."""
    history, running = scene.history, scene.now.running
    if not running:
        return
    shown = running[:MAX_RUNNING]
    few = "" if len(shown) == len(running) else f" {len(running)}, of which the first are"
    yield _Item(lines=[*flowed([Text(f"running{few}", style=QUIET)], width)], rank=7)
    for number, trial in enumerate(shown):
        where = f"on {trial.node}" if len(history.nodes) > 1 else ""
        title, *knobs = label(trial, history)
        age = duration(scene.at - (trial.started_at or scene.at))
        parts = [
            Text(f"  {title}", style=QUIET),
            Text(_activity(trial), style="bold"),
            *map(Text, [age, *figures(trial, history), *knobs]),
            Text(printable(where), style=QUIET),
        ]
        yield _Item(lines=flowed(parts, width, indent=4), rank=20 + number)


def _activity(trial: TrialHistory) -> str:
    """Return what a running trial does, as far as its reports tell."""
    slices = ", in time slices" if trial.trial.interleaved else ""
    if not trial.reports:
        return f"loading, first epoch{slices}"
    if share_done(trial) >= 1:
        return "all epochs done, ending"
    budget, report = trial.trial.budget, trial.reports[-1][1]
    if budget.steps and report.epoch * budget.steps <= report.step * budget.epochs:
        return f"{report.step} of {budget.steps} steps{slices}"
    return f"{report.epoch} of {counted(budget.epochs, 'epoch')}{slices}"

"""The live view's content: progress, the best config so far, the running trials."""

from collections.abc import Iterator

from rich.columns import Columns
from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Column, Table
from rich.text import Text

from orchestrator.formats import clock, counted
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.tracking.console import words

MAX_RUNNING = 5
_LEAST_BAR, _MOST_BAR = 10, 40


class Progress:
    """The progress of a sweep at one moment.

    Args:
        history: The sweep so far.
        at: Unix time, simulated in a replay.
        most_running: The most trials that have been seen to run at the same time.
        is_stopping: True after an interrupt.

    Attributes:
        running: Trials that run now, in the order of asking.
        held_up: Trials that cannot start yet, likewise.
        num_done: Trials with a result.
        num_waiting: Trials that are still to be started; None where the search decides.
    """

    def __init__(
        self, history: SweepHistory, at: float, *, most_running: int = 1, is_stopping: bool = False
    ) -> None:
        self.history, self.at, self.is_stopping = history, at, is_stopping
        self._most_running = max(1, most_running)
        self.running, self.held_up = (
            sorted(trials.values(), key=lambda trial: trial.index)
            for trials in (history.running, history.held_up)
        )
        self.num_done, num_all = history.num_concluded, history.num_expected
        begun = self.num_done + len(self.running)
        self.num_waiting = None if num_all is None else num_all - begun

    @property
    def left_s(self) -> float | None:
        """Time that the rest may take, by the trials so far; None if unknown."""
        typical_s = self.history.mean_taken_s
        if typical_s is None or not (self.num_waiting or (self.num_waiting == 0 and self.running)):
            return None
        rest_s = [max(0.0, typical_s - self.spent_s(trial)) for trial in self.running]
        all_s = self.num_waiting * typical_s + sum(rest_s)
        return max([all_s / self._most_running, *rest_s])

    def spent_s(self, trial: TrialHistory) -> float:
        """Return the time since a trial's start."""
        return 0.0 if trial.started_at is None else self.at - trial.started_at

    @property
    def phase(self) -> str:
        """Name of the current activity, between two trials too."""
        sweep = self.history.sweep
        if here := [each.trial for each in (self.running or self.held_up)]:
            phases = [words.phase_of_trial(trial, sweep) for trial in here]
            return max(set(phases), key=phases.count)
        if self.num_waiting:
            return "starting the next trial"
        return "analysing: which configs come next"


def num_occupied(history: SweepHistory) -> int:
    """Return the capacity that running trials take: the interleaved ones share their cores."""
    interleaved = [trial for trial in history.running.values() if trial.trial.interleaved]
    return len(history.running) - len(interleaved[1:])


def share_done(trial: TrialHistory) -> float:
    """Return the share of its budget that a running trial has reported, 0 to 1."""
    if not trial.reports:
        return 0.0
    budget, report = trial.trial.budget, trial.reports[-1][1]
    by_steps = report.step / budget.steps if budget.steps else 0.0
    return min(1.0, max(report.epoch / max(1, budget.epochs), by_steps))


# -- the view


def block(now: Progress, best: str, *, elapsed_s: float, width: int) -> Iterator[RenderableType]:
    """Yield the view. What matters least comes last, where a low terminal cuts it off.

    Args:
        now: The progress of the sweep.
        best: A line on its best config so far; "" for none.
        elapsed_s: Time since this process began with it.
        width: Columns of the terminal.
    """
    counts = Text("  ").join(_counts(now, elapsed_s))
    if now.num_waiting is None:
        yield counts
    else:
        room = width - counts.cell_len - 2
        bar = ProgressBar(
            total=max(1, now.num_done + len(now.running) + now.num_waiting),
            completed=now.num_done + sum(map(share_done, now.running)),
            width=min(room if room >= _LEAST_BAR else width, _MOST_BAR),
            complete_style="green",
            finished_style="green",
        )
        yield Columns([bar, counts], padding=(0, 2))
    yield Text("  ").join(_states(now))
    waits: dict[str, list[TrialHistory]] = {}
    for trial in now.held_up:
        waits.setdefault(trial.waits_for, []).append(trial)
    for first, *more in waits.values():
        yield Text(words.wait(first, len(more)), style="yellow")
    if best:
        yield Text(best)
    if now.running:
        yield from _running(now)


def _counts(now: Progress, elapsed_s: float) -> Iterator[Text]:
    num_all = now.history.num_expected
    of = "" if num_all is None else f" of {num_all}"
    yield Text(f"{now.num_done}{of} done")
    yield Text(f"{clock(elapsed_s)} so far")
    if (left_s := now.left_s) is not None:
        yield Text(f"about {clock(left_s)} left")
    elif num_all is None or now.num_waiting or now.running:
        yield Text("time left not known", style=words.QUIET)


def _states(now: Progress) -> Iterator[Text]:
    if now.is_stopping:
        yield Text("stopping:", style=words.NOTE)
    else:
        yield Text(f"{now.phase}:", style=words.BOLD)
    for state, style in words.COLOURS.items():
        if count := now.history.states[state]:
            yield Text(f"{count} {state.replace('_', ' ')}", style=style)
    yield Text(f"{len(now.running)} running", style=words.BOLD)
    if now.num_waiting is not None:
        yield Text(f"{now.num_waiting} to come", style=words.QUIET)


def _running(now: Progress) -> Iterator[RenderableType]:
    """Yield the running trials, each with its activity and its time so far."""
    history, running = now.history, now.running
    shown = running[:MAX_RUNNING]
    few = "" if len(shown) == len(running) else f" {len(running)}, of which the first are"
    yield Text(f"running{few}", style=words.QUIET)
    first = Column(style=words.QUIET, no_wrap=True), Column(style=words.BOLD, no_wrap=True)
    table = Table.grid(*first, Column(justify="right", no_wrap=True), Column(), padding=(0, 2))
    for trial in shown:
        title, knobs = words.label_of(trial), words.differing(trial.trial.config, history.sweep)
        where = [f"on {trial.node}"] if len(history.nodes) > 1 else []
        rest = "  ".join([*words.figures(trial.figures(), history.sweep), *knobs, *where])
        table.add_row(f"  {title}", _activity(trial), clock(now.spent_s(trial)), rest)
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

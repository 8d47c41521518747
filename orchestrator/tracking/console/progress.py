"""What a sweep does at a moment: phase, trials by state, time left, leaders, the machine's load.

The driver passes the functions that find the best configs and read the load. The first is the code
of the recommendation, so that the console cannot disagree with the report.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage, Trial

SEARCH = "search"
CONFIRM = "confirm stage"


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of a sweep at one moment.

    Attributes:
        history: The sweep so far.
        at: Unix time, simulated in a replay.
        is_stopping: True after an interrupt.
        running: Trials that run now.
        held_up: Trials that cannot start yet.
        num_waiting: Trials that are still to be started; None where the search decides.
        left_s: Time that the rest may take, by the trials so far; None if unknown.
    """

    history: SweepHistory
    at: float
    is_stopping: bool
    running: list[TrialHistory]
    held_up: list[TrialHistory]
    num_waiting: int | None
    left_s: float | None

    @property
    def num_done(self) -> int:
        """Return the number of trials with a result."""
        return self.history.states.total()

    @property
    def num_total(self) -> int | None:
        """Return the number of trials that there will be, as far as known."""
        if self.num_waiting is None:
            return None
        return self.num_done + len(self.running) + self.num_waiting


def progress_of(
    history: SweepHistory, *, most_running: int, now: float, is_stopping: bool = False
) -> Progress:
    """Return the progress of a sweep at Unix time ``now``.

    Args:
        history: The sweep so far.
        most_running: The most trials that have been seen to run at the same time.
        now: Unix time.
        is_stopping: True after an interrupt.
    """
    running = _in_order(history.running)
    planned, num_known = history.sweep.num_planned, history.num_concluded + len(running)
    num_waiting = None if planned is None else max(planned, len(history.trials)) - num_known
    typical_s = _typical_s(history, running, now)
    return Progress(
        history=history,
        at=now,
        is_stopping=is_stopping,
        running=running,
        held_up=_in_order(history.held_up),
        num_waiting=num_waiting,
        left_s=_left_s(running, num_waiting, most_running, now, typical_s),
    )


def num_occupied(history: SweepHistory) -> int:
    """Return the capacity that running trials take: the interleaved ones share their cores."""
    interleaved = [trial for trial in history.running.values() if trial.trial.interleaved]
    return len(history.running) - len(interleaved[1:])


def _in_order(trials: Mapping[str, TrialHistory]) -> list[TrialHistory]:
    """Return trials in the order of asking."""
    return sorted(trials.values(), key=lambda trial: trial.index)


def share_done(trial: TrialHistory) -> float:
    """Return the share of its budget that a running trial has reported, 0 to 1."""
    if not trial.reports:
        return 0.0
    _, report = trial.reports[-1]
    budget = trial.trial.budget
    shares = [report.epoch / max(1, budget.epochs)]
    if budget.steps:
        shares.append(report.step / budget.steps)
    return min(1.0, max(shares))


def _typical_s(history: SweepHistory, running: list[TrialHistory], now: float) -> float | None:
    """Return what a trial takes by those that are done, else by those that run, else None."""
    if (mean_s := history.mean_taken_s) is not None:
        return mean_s
    taken = [_spent_s(t, now) / share_done(t) for t in running if share_done(t) > 0]
    return statistics.fmean(taken) if taken else None


def _left_s(
    running: list[TrialHistory],
    num_waiting: int | None,
    most_running: int,
    now: float,
    typical_s: float | None,
) -> float | None:
    if num_waiting is None or typical_s is None or not (num_waiting or running):
        return None
    rest_s = [_rest_s(t, typical_s, now) for t in running if not t.trial.interleaved]
    interleaved = (_rest_s(t, typical_s, now) for t in running if t.trial.interleaved)
    rest_s.append(max(interleaved, default=0.0))  # they end together
    return max([(num_waiting * typical_s + sum(rest_s)) / max(1, most_running), *rest_s])


def _rest_s(trial: TrialHistory, typical_s: float, now: float) -> float:
    spent_s, share = _spent_s(trial, now), share_done(trial)
    return max(0.0, typical_s - spent_s) if share == 0 else spent_s * (1 - share) / share


def _spent_s(trial: TrialHistory, now: float) -> float:
    return now - (now if trial.started_at is None else trial.started_at)


# -- the phase


def phase_of_trial(trial: Trial, sweep: SweepRecord) -> str:
    """Return what a trial is for."""
    if trial.stage is Stage.CONFIRM:
        return "test run of the recommended config" if trial.evaluate_test else CONFIRM
    is_factored = sweep.search.startswith("Factored")
    if trial.stage is Stage.PROBE:
        return "probes of speed" if is_factored else "interference check"
    if trial.repeat >= sweep.rigor.repeats:
        return "further seeds" if is_factored else "repeats of the best"
    return "learning curves" if is_factored else SEARCH


def phase_of(now: Progress) -> str:
    """Return what is done at the moment; it has a name between two trials too."""
    here = [each.trial for each in (now.running or now.held_up)]
    if here:
        phases = [phase_of_trial(trial, now.history.sweep) for trial in here]
        return max(set(phases), key=phases.count)
    return "starting the next trial" if now.num_waiting else "analysing: which configs come next"


# -- the best configs


@dataclass(frozen=True, kw_only=True)
class Best:
    """A config that leads in something.

    Attributes:
        title: Its lead in a word or two: ``recommended``, ``fastest``.
        config: The value of every knob.
        figures: Its metrics by name, means over its runs.
    """

    title: str
    config: Mapping[str, Any]
    figures: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class BestSoFar:
    """The leading configs of a sweep at one moment.

    Attributes:
        leaders: The configs, the recommended one first, none twice.
        baseline: The baseline's speed, samples/s; None while it is not known.
        num_front: Configs on the Pareto front; None while it is not known.
    """

    leaders: Sequence[Best] = ()
    baseline: float | None = None
    num_front: int | None = None


FindBest = Callable[[SweepHistory], BestSoFar]
"""Finds the best configs of a sweep; may take some tens of milliseconds."""


# -- the machine


@dataclass(frozen=True, kw_only=True)
class GpuLoad:
    """A GPU at one moment.

    Attributes:
        busy_share: Share of the time in which a kernel ran, 0 to 1; None where it is unknown.
        used_gib: Memory in use, by whomever.
        total_gib: Memory that it has.
    """

    busy_share: float | None
    used_gib: float
    total_gib: float


@dataclass(frozen=True, kw_only=True)
class Load:
    """The load of this machine over the last second or two.

    Attributes:
        num_cores: Cores that this process may use.
        own: Cores' worth of time of the sweep: its trials, its driver, Ray and MLflow.
        others: Cores' worth of time of all other processes on these cores.
        gpus: The GPUs that may be used.
    """

    num_cores: int
    own: float
    others: float
    gpus: tuple[GpuLoad, ...] = ()


ReadLoad = Callable[[], Load | None]
"""Reads the load since the last call; None where it is not known (yet)."""

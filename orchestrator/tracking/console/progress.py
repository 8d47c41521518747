"""How a sweep stands: what is done, what is best so far, how long it may still take."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.metrics import Goal, Objective, maximize
from orchestrator.storage.history import SweepHistory, TrialHistory
from orchestrator.trial import Stage, TrialState

SPEED, ACCURACY = "samples_per_s", "val_acc"

_TITLES = {maximize(SPEED): "fastest", maximize(ACCURACY): "most accurate"}


@dataclass(frozen=True, kw_only=True)
class Best:
    """A trial that leads in something.

    Attributes:
        title: In what.
        trial: The trial.
    """

    title: str
    trial: TrialHistory


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a sweep stands at one moment.

    Attributes:
        states: Trials whose fate is known, by state.
        running: Trials that run now.
        held_up: Trials that cannot start yet.
        num_waiting: Trials that are still to be started; None where the search decides.
        left_s: How long the rest may take, as the trials go so far; None if unknown.
        best: The leading trials of those that may be compared, no trial twice.
        baseline: Speed of the baseline so far in these, samples/s, or None.
    """

    states: Counter[TrialState]
    running: list[TrialHistory]
    held_up: list[TrialHistory]
    num_waiting: int | None
    left_s: float | None
    best: list[Best]
    baseline: float | None

    @property
    def num_done(self) -> int:
        """Trials whose fate is known."""
        return self.states.total()

    @property
    def num_total(self) -> int | None:
        """Trials that there will be, as far as known."""
        if self.num_waiting is None:
            return None
        return self.num_done + len(self.running) + self.num_waiting


def standing(record: SweepHistory, *, num_slots: int, now: float) -> Standing:
    """How the sweep stands at Unix time ``now``.

    Args:
        record: What is known of it.
        num_slots: How many trials have been seen to run at once.
        now: Unix time.
    """
    trials = record.trials.values()
    running = [trial for trial in trials if trial.running]
    done = [trial for trial in trials if trial.concluded is not None]
    states = Counter(trial.concluded.state for trial in done if trial.concluded is not None)
    num_waiting = _num_waiting(record, len(done) + len(running))
    ranked = list(_comparable(done, record.sweep))
    return Standing(
        states=states,
        running=running,
        held_up=[trial for trial in trials if trial.waits_for],
        num_waiting=num_waiting,
        left_s=_left_s(done, running, num_waiting, num_slots, now),
        best=list(_best([t for t in ranked if t.trial.stage is not Stage.PROBE], record.sweep)),
        baseline=_baseline_speed(ranked, record.sweep),
    )


def num_occupied(record: SweepHistory) -> int:
    """Capacity that running trials take: the interleaved ones share their cores."""
    running = [trial for trial in record.trials.values() if trial.running]
    interleaved = [trial for trial in running if trial.trial.interleaved]
    return len(running) - len(interleaved[1:])


def progress(trial: TrialHistory) -> float:
    """Share of its budget that a running trial has reported, 0 to 1."""
    if not trial.reports:
        return 0.0
    _, report = trial.reports[-1]
    budget = trial.trial.budget
    shares = [report.epoch / max(1, budget.epochs)]
    if budget.steps:
        shares.append(report.step / budget.steps)
    return min(1.0, max(shares))


def _num_waiting(record: SweepHistory, num_known: int) -> int | None:
    planned = record.sweep.get("num_planned")
    if planned is None:
        return None
    return max(int(planned), len(record.trials)) - num_known


def _left_s(
    done: list[TrialHistory],
    running: list[TrialHistory],
    num_waiting: int | None,
    num_slots: int,
    now: float,
) -> float | None:
    walls = [t.result.wall_s for t in done if t.result is not None and t.result.wall_s is not None]
    walls = walls or [_spent_s(t, now) / progress(t) for t in running if progress(t) > 0]
    if num_waiting is None or not walls:
        return None
    typical_s = statistics.fmean(walls)
    rest_s = [_rest_s(t, typical_s, now) for t in running if not t.trial.interleaved]
    interleaved = (_rest_s(t, typical_s, now) for t in running if t.trial.interleaved)
    rest_s.append(max(interleaved, default=0.0))  # they end together
    return max([(num_waiting * typical_s + sum(rest_s)) / max(1, num_slots), *rest_s])


def _rest_s(trial: TrialHistory, typical_s: float, now: float) -> float:
    spent_s, share = _spent_s(trial, now), progress(trial)
    return max(0.0, typical_s - spent_s) if share == 0 else spent_s * (1 - share) / share


def _spent_s(trial: TrialHistory, now: float) -> float:
    return now - (now if trial.started_at is None else trial.started_at)


def _comparable(done: list[TrialHistory], sweep: Mapping[str, Any]) -> Iterator[TrialHistory]:
    """Those on the kind of machine that most ran on, the disturbed ones only where all are.

    What the sweep varies as a knob is its question, and keeps nothing apart. The report asks
    for more: see ``analysis/comparable.py``, which has all rows to look at.
    """
    ran = [trial for trial in done if trial.result is not None and trial.result.metrics]
    kinds = Counter(_machine(trial, sweep) for trial in ran)
    if not kinds:
        return
    (most, _), *_ = kinds.most_common(1)
    alike = [trial for trial in ran if _machine(trial, sweep) == most]
    clean = [trial for trial in alike if _tag(trial, "contaminated") in ("", "false")]
    yield from clean or alike


def _machine(trial: TrialHistory, sweep: Mapping[str, Any]) -> tuple[str, ...]:
    device = trial.result.device if trial.result is not None else ""
    kinds = ", ".join(sorted(set(device.split(", "))))
    return "" if "device" in sweep.get("space", {}) else kinds, _tag(trial, "cpu_model")


def _tag(trial: TrialHistory, name: str) -> str:
    return trial.result.tags.get(name, "") if trial.result is not None else ""


def _best(done: list[TrialHistory], sweep: Mapping[str, Any]) -> Iterator[Best]:
    shown: set[str] = set()
    for best in _leaders(done, sweep):
        if best.trial.trial.id not in shown:
            shown.add(best.trial.trial.id)
            yield best


def _leaders(done: list[TrialHistory], sweep: Mapping[str, Any]) -> Iterator[Best]:
    told = [Objective(o["metric"], Goal(o["goal"])) for o in sweep.get("objectives", [])]
    if {SPEED, ACCURACY} <= {objective.metric for objective in told}:
        yield from _fastest_good_enough(done, float(sweep.get("accuracy_tolerance", 0.0)))
    for objective in told:
        having = [trial for trial in done if objective.metric in trial.figures()]
        if having:
            yield Best(
                title=_TITLES.get(objective, f"best {objective.metric}"),
                trial=_leader(having, objective),
            )


def _leader(trials: list[TrialHistory], objective: Objective) -> TrialHistory:
    return max(trials, key=lambda trial: objective.sign * trial.figures()[objective.metric])


def _fastest_good_enough(done: list[TrialHistory], tolerance: float) -> Iterator[Best]:
    """The rule of the recommendation: fastest within ``tolerance`` of the best accuracy."""
    both = [trial for trial in done if {SPEED, ACCURACY} <= trial.figures().keys()]
    if not both:
        return
    least = max(trial.figures()[ACCURACY] for trial in both) - tolerance
    good = [trial for trial in both if trial.figures()[ACCURACY] >= least]
    leader = max(good, key=lambda trial: trial.figures()[SPEED])
    yield Best(title="recommended", trial=leader)


def _baseline_speed(done: list[TrialHistory], sweep: Mapping[str, Any]) -> float | None:
    baseline = {k: tuple(v) if isinstance(v, list) else v for k, v in sweep["baseline"].items()}
    speeds = [
        trial.figures()[SPEED]
        for trial in done
        if SPEED in trial.figures() and dict(trial.trial.config) == baseline
    ]
    return statistics.fmean(speeds) if speeds else None

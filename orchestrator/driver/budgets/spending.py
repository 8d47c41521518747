"""Spending: what the trials of a run have taken so far, and what its budgets still have room for.

It is counted from the journal's events alone, those of earlier processes included. Decisions that
rest on it depend on the clock, so the control loop journals them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.driver.budgets.budgets import (
    LEAST_CONFIGS,
    Amount,
    Budgets,
    Config,
    Expectation,
    kept_back,
)
from orchestrator.kernel.events import Asked, Event, Finished, Opened, Resumed, Started
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState


@dataclass(kw_only=True)
class _Held:
    """A trial that holds its cores: since when, and how many."""

    trial: Trial
    since: float
    cores: int


class Spending:
    """The sum of what trials took, and the room that is left.

    Args:
        budgets: The limits.
        expectation: What is known beforehand.
        now: Unix time now.
    """

    def __init__(
        self, budgets: Budgets, expectation: Expectation, now: Callable[[], float]
    ) -> None:
        self.budgets = budgets
        self._expected = expectation
        self._now = now
        self._began: float | None = None
        self._last: float | None = None
        self._asked: dict[str, Trial] = {}
        self._held: dict[str, _Held] = {}
        self._begun: set[str] = set()
        self._to_start: dict[str, Trial] = {}
        self._ended = Amount()
        self._interleaved_since: float | None = None
        self._durations: dict[str, tuple[float, int]] = {}  # their sum and their number
        self._tried: set[str] = set()

    # -- what is counted

    def apply(self, event: Event) -> None:
        """Count one event of the journal."""
        at = event.at
        if isinstance(event, Opened | Resumed):
            self._break_off()
            self._began = at
        elif isinstance(event, Asked):
            self._asked[event.trial.id] = event.trial
        elif isinstance(event, Started):
            self._start(self._asked[event.trial_id], at, event.cores)
        elif isinstance(event, Finished):
            self._finish(self._asked[event.trial_id], at, event.result)
        self._last = at

    def expect(self, trials: Sequence[Trial]) -> None:
        """Count trials that are handed out and have not started."""
        self._to_start |= {trial.id: trial for trial in trials}

    def has_begun(self, trial: Trial) -> bool:
        """Return True if it was started, in an earlier process too, and has not ended."""
        return trial.id in self._begun

    def _break_off(self) -> None:
        """End trials that an earlier process left running, at their last known time."""
        if self._began is None or self._last is None:
            return
        self._ended += Amount(time_s=self._last - self._began)
        for held in list(self._held.values()):
            self._release(held, self._last)

    def _start(self, trial: Trial, at: float, cores: int) -> None:
        if trial.stage is Stage.TRAIN:
            self._tried.add(_key(trial.config))
        self._begun.add(trial.id)
        self._to_start.pop(trial.id, None)
        if trial.id in self._held:  # another attempt
            return
        self._held[trial.id] = _Held(trial=trial, since=at, cores=cores)
        if trial.interleaved and self._interleaved_since is None:
            self._interleaved_since = at

    def _finish(self, trial: Trial, at: float, result: TrialResult) -> None:
        self._begun.discard(trial.id)
        self._to_start.pop(trial.id, None)
        held = self._held.get(trial.id)
        paused = result.state is TrialState.STOPPED and trial.budget.pause_after is not None
        if held is not None and (paused or result.state is TrialState.COMPLETED):
            seconds = result.wall_s if trial.interleaved else at - held.since
            if seconds is not None:
                kind = _kind(trial.budget)
                for name in (kind, kind + _key(trial.config)):
                    total, num = self._durations.get(name, (0.0, 0))
                    self._durations[name] = total + float(seconds), num + 1
        if held is not None:
            self._release(held, at)

    def _release(self, held: _Held, at: float) -> None:
        del self._held[held.trial.id]
        since: float | None = held.since
        if held.trial.interleaved:
            # They share the same cores: those are held from the first start to the last end.
            if any(other.trial.interleaved for other in self._held.values()):
                return
            since, self._interleaved_since = self._interleaved_since, None
        assert since is not None, "the trial was started"
        self._ended += Amount(core_s=held.cores * (at - since))

    # -- what is spent

    @property
    def spent(self) -> Amount:
        """Return what was spent so far, running trials and earlier processes included."""
        now = self._now()
        spent = self._ended + Amount(time_s=now - (self._began or now))
        for held in self._held_once():
            since = self._interleaved_since if held.trial.interleaved else held.since
            spent += Amount(core_s=held.cores * (now - (since or now)))
        return spent

    @property
    def began_at(self) -> float:
        """Return the Unix time at which the run began, had there been no pause in it."""
        return (self._began or self._now()) - self._ended.time_s

    def of_the_past(self) -> Amount:
        """Return what was spent by processes that have ended."""
        self._break_off()
        self._began = None
        return self._ended

    def _held_once(self) -> list[_Held]:
        """Return the running trials, only one of the interleaved ones."""
        alone = [held for held in self._held.values() if not held.trial.interleaved]
        return alone + [held for held in self._held.values() if held.trial.interleaved][:1]

    def exhausted_by(self) -> str:
        """Return the limit that has been reached, in words; empty where none is."""
        # Counting what is spent takes longer the more trials run.
        if not self.budgets.has_limits:
            return ""
        return self.budgets.spent_by(self.spent)

    @property
    def num_untried(self) -> int | None:
        """Return how many configs the search would train without a started trial; or None."""
        if self._expected.num_configs is None:
            return None
        return max(0, self._expected.num_configs - len(self._tried))

    # -- what there is room for

    def too_much(self, trial: Trial) -> str:
        """Return the limit, in words, that has no room for another trial of the search.

        Room is left for what runs, and for the confirm stage up to its first interim analysis if
        the budget has enough for both. Empty where there is room, or while no duration is known.
        """
        whole_s = self._trial_s(self._expected.budget)
        if whole_s is None or not self.budgets.has_limits:
            return self.exhausted_by()
        need = self._one(self._trial_s(trial.budget) or whole_s)
        rest = self._running_rest()
        # Trials that run meanwhile do not lengthen the run.
        need = Amount(time_s=max(need.time_s, rest.time_s), core_s=need.core_s + rest.core_s)
        return self.budgets.exceeded_by(self.spent + need + self._kept_back())

    def too_much_to_confirm(self, configs: Sequence[Config], *, kept_back: bool) -> str:
        """Return the limit, in words, that has no room for whole trainings of these configs.

        Args:
            configs: The configs, trained one after the other.
            kept_back: True for the runs that room was kept back for. They may start in any case
                while nothing is exhausted.
        """
        if by := self.exhausted_by():
            return by
        if not self.budgets.has_limits or (kept_back and self._kept_back() != Amount()):
            return ""
        needs = [need for config in configs if (need := self._of_config(config)) is not None]
        return self.budgets.exceeded_by(sum(needs, self.spent))

    def _running_rest(self) -> Amount:
        """Return what launched trials will still take; the time is that of the longest trial."""
        rest, now, cores = Amount(), self._now(), self._expected.num_cores
        held_now = [
            *self._held_once(),
            *(_Held(trial=trial, since=now, cores=cores) for trial in self._to_start.values()),
        ]
        for held in held_now:
            expected = self._trial_s(held.trial.budget) or 0.0
            seconds = max(0.0, expected - (now - held.since))
            core_s = rest.core_s + held.cores * seconds
            rest = Amount(time_s=max(rest.time_s, seconds), core_s=core_s)
        return rest

    def _kept_back(self) -> Amount:
        """Return what is kept for the confirm stage; nothing while no duration is known."""
        expected, baseline = self._expected, self._of_config(self._expected.baseline)
        typical_s = self._trial_s(expected.budget)
        if baseline is None or typical_s is None:
            return Amount()
        typical = self._one(typical_s)
        least = baseline + typical.times(LEAST_CONFIGS - 1)
        first, budgets = expected.confirm, self.budgets
        return kept_back(first, budgets, baseline=baseline, typical=typical, least=least)

    def _of_config(self, config: Config) -> Amount | None:
        """Return what a whole training of a config takes, by its own runs where there are any."""
        whole = self._expected.budget
        seconds = self._mean_s(_kind(whole) + _key(config)) or self._trial_s(whole)
        return None if seconds is None else self._one(seconds)

    def _one(self, seconds: float) -> Amount:
        return Amount(time_s=seconds, core_s=self._expected.num_cores * seconds)

    def _trial_s(self, budget: Budget) -> float | None:
        """Return the mean seconds of a trial with a budget: measured, else that of a whole one."""
        seen = self._mean_s(_kind(budget)) or self._mean_s(_kind(self._expected.budget))
        return self._expected.trial_s if seen is None else seen

    def _mean_s(self, name: str) -> float | None:
        total, num = self._durations.get(name, (0.0, 0))
        return total / num if num else None


def _kind(budget: Budget) -> str:
    return repr(budget)


def _key(config: Config) -> str:
    return repr(sorted(config.items()))

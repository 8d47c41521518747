"""Spending: what the trials of a run have taken, and what its budgets still have room for.

It is counted from the journal's events alone, those of earlier processes included. A decision that
rests on it depends on the clock, so it is an event of the journal before it takes effect. A resumed
run takes the same decisions from its journal.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from orchestrator.driver.budgets import LEAST_CONFIGS, MARGIN, Amount, Budgets
from orchestrator.driver.planning.plan import Plan, least
from orchestrator.errors import SweepError
from orchestrator.formats import counted
from orchestrator.kernel import events
from orchestrator.kernel.events import Event
from orchestrator.kernel.executor import Deadline
from orchestrator.kernel.parts import Gate
from orchestrator.kernel.search import PlannedStage
from orchestrator.search.stages.sequence import at_most
from orchestrator.space.configs import canonical, values_of
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState

Config = Mapping[str, Any]


@dataclass(kw_only=True)
class _Held:
    """A trial that holds its cores, or all that share them."""

    trial: Trial
    since: float
    cores: int


class Spending(Gate):
    """Gate that cuts a search short at a budget's end, and lets it continue with a larger one.

    Args:
        budgets: The limits.
        plan: What is known beforehand.
        now: Time now, of the run's clock.
    """

    def __init__(self, budgets: Budgets, plan: Plan, now: Callable[[], float]) -> None:
        super().__init__()
        self._budgets = budgets
        self._plan = plan
        self._now = now
        self._whole = plan.sweep.budget
        self._baseline = values_of(canonical(plan.sweep.baseline))
        self._began: float | None = None
        self._last: float | None = None
        self._asked: dict[str, Trial] = {}
        self._held: dict[str, _Held] = {}
        self._begun: set[str] = set()
        self._to_start: dict[str, Trial] = {}
        self._ended = Amount()
        self._timed: dict[str, list[float]] = defaultdict(list)  # seconds of trials of a kind
        self._tried: set[str] = set()
        self._cuts: dict[str, events.Cut] = {}

    # -- decisions

    @property
    def cuts(self) -> tuple[str, ...]:
        """Return what was left out for want of a budget, a sentence each."""
        return tuple(cut.text for cut in self._cuts.values())

    @property
    def has_more(self) -> bool:
        """Return True if a budget has cut the run short, and one is larger now."""
        limits = [cut.limits for cut in self._cuts.values()]
        return bool(limits) and self._budgets.has_more_than(limits[-1])

    def launched(self, trials: Sequence[Trial]) -> Deadline | None:
        """Count trials that are about to start; return the end of the time budget, if any."""
        self._to_start |= {trial.id: trial for trial in trials}
        if (seconds := self._budgets.time_s) is None:
            return None
        began = (self._began or self._now()) - self._ended.time_s  # as if without a pause
        reason = f"the time budget of {seconds:g} s had ended"
        return Deadline(at=began + seconds, reason=reason)

    def not_run(self, trial: Trial) -> TrialResult | None:
        """Return the row of a trial without room in the budgets; None if it may start."""
        by = self._exhausted_by()
        reason = f"{by} had ended"
        if not trial.stage.is_final:
            # A trial that ran at the cut continues to its end, also after an interruption.
            is_cut = "search" in self._cuts and trial.id not in self._begun
            by = self._cuts["search"].by if is_cut else self._too_much(trial)
            reason = f"{by} had no room for it"
            if by and "search" not in self._cuts:
                tried = self._plan.num_able
                num = 0 if tried is None else max(0, tried - len(self._tried))
                left_out = f": {counted(num, 'config')} not tried" if num else ""
                self._cut("search", by, f"ended the search{left_out}")
        return TrialResult(state=TrialState.NOT_RUN, reason=reason) if by else None

    def may_start(self, configs: Sequence[Config], *, kept_back: bool) -> bool:
        """Return True if the confirm stage may begin, or continue with another round."""
        if "confirm" in self._cuts:
            return False
        if self.restoring:
            return True
        by = self._exhausted_by()
        if not by and self._budgets.has_limits and not (kept_back and self._kept_back()):
            needs = [need for config in configs if (need := self._of_config(config)) is not None]
            by = self._budgets.exceeded_by(sum(needs, self.spent))
        if by:
            text = "ended the confirm stage: its later runs were left out"
            none = "had no room for a confirm stage, so no speed-up is claimed"
            self._cut("confirm", by, none if kept_back else text)
        return not by

    def _cut(self, part: str, by: str, text: str) -> None:
        text = f"{by} {text}"
        self.record(events.Cut(part=part, by=by, limits={**vars(self._budgets)}, text=text))
        self.record(events.Noted(text=text))

    # -- what is counted

    def apply(self, event: Event) -> None:
        """Count one event of the journal, and apply the decision that it records."""
        at = event.at
        if isinstance(event, events.Opened):
            self._break_off()
            self._began = at
        elif isinstance(event, events.Asked):
            self._asked[event.trial.id] = event.trial
        elif isinstance(event, events.Started):
            self._start(self._asked[event.trial_id], at, event.cores)
        elif isinstance(event, events.Finished):
            self._finish(self._asked[event.trial_id], at, event.result)
        elif isinstance(event, events.Cut):
            self._cuts[event.part] = event
            if event.part == "search":
                self.search.end_early()
        elif isinstance(event, events.Continued):
            self._cuts.clear()
        self._last = at

    def _break_off(self) -> None:
        """End trials that an earlier process left running, at their last known time."""
        if self._began is None or self._last is None:
            return
        self._ended += Amount(time_s=self._last - self._began)
        for name in list(self._held):
            self._release(name, self._last)

    def _start(self, trial: Trial, at: float, cores: int) -> None:
        if trial.stage is Stage.TRAIN:
            self._tried.add(_key(trial.config))
        self._begun.add(trial.id)
        self._to_start.pop(trial.id, None)
        if trial.id not in self._held:  # else it is another attempt
            held = next((h for h in self._held.values() if h.trial.shares_cores(trial)), None)
            self._held[trial.id] = held or _Held(trial=trial, since=at, cores=cores)

    def _finish(self, trial: Trial, at: float, result: TrialResult) -> None:
        self._begun.discard(trial.id)
        self._to_start.pop(trial.id, None)
        if (held := self._held.get(trial.id)) is None:
            return
        has_part = result.state is TrialState.STOPPED and trial.budget.is_part
        if has_part or result.state is TrialState.COMPLETED:
            kind, held_s = repr(trial.budget), at - held.since
            seconds = trial.taken_s(held_s if result.wall_s is None else result.wall_s, held_s)
            for name in (kind, kind + _key(trial.config)):
                self._timed[name].append(seconds)
        self._release(trial.id, at)

    def _release(self, trial_id: str, at: float) -> None:
        held = self._held.pop(trial_id)
        # Trials that share cores hold them from the first start to the last end.
        if all(other is not held for other in self._held.values()):
            self._ended += Amount(core_s=held.cores * (at - held.since))

    # -- what is spent

    @property
    def spent(self) -> Amount:
        """Return what was spent so far, running trials and earlier processes included."""
        now = self._now()
        spent = self._ended + Amount(time_s=now - (self._began or now))
        held_now = self._held_now()
        return spent + Amount(core_s=sum(held.cores * (now - held.since) for held in held_now))

    def _held_now(self) -> list[_Held]:
        return list({id(held): held for held in self._held.values()}.values())

    def _exhausted_by(self) -> str:
        """Return the limit that has been reached, in words; empty where none is."""
        return self._budgets.exceeded_by(self.spent, reached=True)

    # -- what there is room for

    def _too_much(self, trial: Trial) -> str:
        """Return the limit, in words, that has no room for another trial of the search.

        Room is left for what runs, and for the confirm stage up to its first interim analysis if
        the budget has enough for both. Empty where there is room, or while no duration is known.
        """
        seconds = self._trial_s(trial.budget)
        if seconds is None or not self._budgets.has_limits:
            return self._exhausted_by()
        need, rest = self._one(seconds), self._running_rest()
        # Trials that run meanwhile do not lengthen the run.
        need = Amount(time_s=max(need.time_s, rest.time_s), core_s=need.core_s + rest.core_s)
        return self._budgets.exceeded_by(self.spent + need + (self._kept_back() or Amount()))

    def _running_rest(self) -> Amount:
        """Return what launched trials will still take; its time is the longest trial's."""
        rest, now, cores = Amount(), self._now(), self._plan.num_cores
        launched = (_Held(trial=one, since=now, cores=cores) for one in self._to_start.values())
        for held in (*self._held_now(), *launched):
            expected = self._trial_s(held.trial.budget) or 0.0
            seconds = max(0.0, expected - (now - held.since))
            core_s = rest.core_s + held.cores * seconds
            rest = Amount(time_s=max(rest.time_s, seconds), core_s=core_s)
        return rest

    def _kept_back(self) -> Amount | None:
        """Return what is kept for the confirm stage: for all finalists, or for the selected config.

        None if no search would be left, and while no duration is known.
        """
        baseline, typical_s = self._of_config(self._baseline), self._trial_s(self._whole)
        stages, rigor = self._plan.finals, self._plan.sweep.rigor
        if baseline is None or typical_s is None or not stages:
            return None
        share = self._plan.share_of(stages[0], stages[0].share_of_trial)
        typical, runs = self._one(typical_s), rigor.confirm * share
        search = baseline + typical.times(LEAST_CONFIGS - 1)
        finalists = at_most(self._plan.num_able, 1 + rigor.finalists) - 1
        for number, margin in ((finalists, MARGIN), (min(1, finalists), 1.0)):
            compared = (baseline + typical.times(number)).times(runs)
            kept = (compared + typical).times(margin)  # the last one is the test run
            if not self._budgets.exceeded_by(kept + search):
                return kept
        return None

    def _of_config(self, config: Config) -> Amount | None:
        """Return what a whole training of a config takes, by its own runs where there are any."""
        own_s = self._mean_s(repr(self._whole) + _key(config))
        seconds = own_s or self._trial_s(self._whole)
        return None if seconds is None else self._one(seconds)

    def _one(self, seconds: float) -> Amount:
        return Amount(time_s=seconds, core_s=self._plan.num_cores * seconds)

    def _trial_s(self, budget: Budget) -> float | None:
        """Return the mean seconds of a trial with a budget: measured, else as of a whole one."""
        seen = self._mean_s(repr(budget)) or self._mean_s(repr(self._whole))
        return self._plan.trial_s if seen is None else seen

    def _mean_s(self, name: str) -> float | None:
        return fmean(seconds) if (seconds := self._timed.get(name)) else None


def _key(config: Config) -> str:
    return repr(sorted(config.items()))


def require_room(plan: Plan, budgets: Budgets) -> None:
    """Check that the budgets have room for the least that gives an answer, if it is known.

    The least is that of a search in stages, else two configs; then the confirm stage up to its
    first interim analysis.

    Raises:
        SweepError: A budget has no room.
    """
    searched, words = list(plan.searched), "the least of the search"
    if not plan.is_staged:
        num, words = min(LEAST_CONFIGS, sum(stage.least for stage in searched)), "two configs"
        searched = [PlannedStage(name="", least=num, most=num, isolated=True)]
    needed = least(plan, [*searched, *plan.finals])
    if needed.amount is None or not (by := budgets.exceeded_by(needed.amount)):
        return
    confirmed = " and the confirm stage up to its first analysis" if plan.finals else ""
    raise SweepError(
        f"{by} is below the least of this plan: {needed.amount} for {words}{confirmed}, "
        f"{needed.trials} trials",
        f"allowed: more than that{' or --set rigor.confirm=0' if plan.finals else ''}; --plan "
        "shows the plan",
    )

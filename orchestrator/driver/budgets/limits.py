"""Limits of a run: trials without room in its budgets do not run; the search is notified.

Each such decision depends on the clock, so it is an event of the journal before it takes effect. A
resumed run takes the same decisions from its journal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.driver.budgets.spending import Spending
from orchestrator.formats import counted
from orchestrator.kernel.events import Continued, Cut, Event, Noted
from orchestrator.kernel.executor import TimeBudget
from orchestrator.kernel.parts import Gate
from orchestrator.trial import Stage, Trial, TrialResult, TrialState


class Limits(Gate):
    """Gate that cuts a search short at a budget's end, and lets it continue with a larger one.

    Args:
        spending: What was spent, and what there is room for.
    """

    def __init__(self, spending: Spending) -> None:
        super().__init__()
        self._spending = spending
        self._cuts: dict[str, Cut] = {}

    @property
    def is_cut(self) -> bool:
        """Return True if a budget has cut the run short, and none is larger now."""
        return bool(self._cuts) and not self.has_more

    @property
    def cut_by(self) -> str:
        """Return the limits that have cut the run short, in words."""
        return " and ".join(dict.fromkeys(cut.by for cut in self._cuts.values()))

    @property
    def cuts(self) -> tuple[str, ...]:
        """Return what was left out for want of a budget, a sentence each."""
        return tuple(cut.text for cut in self._cuts.values())

    @property
    def has_more(self) -> bool:
        """Return True if a budget has cut the run short, and one is larger now."""
        limits = [cut.limits for cut in self._cuts.values()]
        return bool(limits) and self._spending.budgets.has_more_than(limits[-1])

    @property
    def time_budget(self) -> TimeBudget | None:
        """Return the time until which trials may start; None without such a limit."""
        seconds = self._spending.budgets.time_s
        if seconds is None:
            return None
        return TimeBudget(seconds=seconds, ends_at=self._spending.began_at + seconds)

    # -- while it runs

    def apply(self, event: Event) -> None:
        """Count one event of the journal, and apply the decision that it records."""
        self._spending.apply(event)
        if isinstance(event, Cut):
            self._cuts[event.part] = event
        elif isinstance(event, Continued):
            self._cuts.clear()

    def not_run(self, trial: Trial) -> TrialResult | None:
        """Return the row of a trial without room in the budgets; None if it may start."""
        by = self._spending.exhausted_by()
        reason = f"{by} had ended"
        if trial.stage is not Stage.CONFIRM:
            # A trial that ran at the cut continues to its end, also after an interruption.
            is_cut = "search" in self._cuts and not self._spending.has_begun(trial)
            by = self._cuts["search"].by if is_cut else self._spending.too_much(trial)
            reason = f"{by} had no room for it"
            if by and "search" not in self._cuts:
                self._cut("search", by)
        return TrialResult(state=TrialState.NOT_RUN, reason=reason) if by else None

    def launched(self, trials: Sequence[Trial]) -> None:
        """Count trials that are about to start."""
        self._spending.expect(trials)

    def may_start(self, configs: Sequence[Mapping[str, Any]], *, kept_back: bool) -> bool:
        """Return True if the confirm stage may begin, or continue with another round."""
        if "confirm" in self._cuts:
            return False
        if self.replaying:
            return True
        by = self._spending.too_much_to_confirm(configs, kept_back=kept_back)
        if not by:
            return True
        self._cut("confirm", by, left_out=kept_back)
        return False

    def _cut(self, part: str, by: str, *, left_out: bool = False) -> None:
        num = self._spending.num_untried
        text = f"{by} ended the search" + (f": {counted(num, 'config')} not tried" if num else "")
        if part == "confirm":
            text = f"{by} ended the confirm stage: its later runs were left out"
        if left_out:
            text = f"{by} had no room for a confirm stage, so no speed-up is claimed"
        limits = self._spending.budgets.limits
        self.record(Cut(part=part, by=by, limits=limits, text=text))
        self.record(Noted(text=text))

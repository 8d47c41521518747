"""Limits of a run: what its budgets have no room for is not run, and the search learns of it.

Each such decision depends on the clock, so it is an event of the journal before it takes effect. A
resumed run takes the same decisions from its journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orchestrator.driver.budgets.spending import Spending
from orchestrator.execution.base import TimeBudget
from orchestrator.search.base import Search
from orchestrator.storage.events import Continued, Cut, Event, Noted, Resumed
from orchestrator.trial import Stage, Trial, TrialResult, TrialState


class Limits:
    """Cuts a search short where a budget ends, and lets it go on where there is more of it.

    Args:
        spending: What was spent, and what there is room for.
        search: The search; None where it is not asked anything.
        record: Writes an event to the journal, and hands it on.
        now: Unix time now.
    """

    def __init__(
        self,
        spending: Spending,
        search: Search | None,
        record: Callable[[Event], object],
        now: Callable[[], float],
    ) -> None:
        self._spending = spending
        self._search = search
        self._record = record
        self._now = now
        self._cut_by: dict[str, str] = {}
        self._texts: dict[str, str] = {}
        self._limits_then: Mapping[str, float | None] = {}
        self._replaying = False
        if self._search is not None:
            self._search.limit(self._may_start)

    @property
    def is_cut(self) -> bool:
        """Return True if a budget has cut the run short, and none is larger now."""
        return bool(self._cut_by) and not self.has_more

    @property
    def cut_by(self) -> str:
        """Return the limits that have cut the run short, in words."""
        return " and ".join(dict.fromkeys(self._cut_by.values()))

    @property
    def cuts(self) -> tuple[str, ...]:
        """Return what was left out for want of a budget, a sentence each."""
        return tuple(self._texts.values())

    @property
    def has_more(self) -> bool:
        """Return True if a budget has cut the run short, and one is larger now."""
        return bool(self._cut_by) and self._spending.budgets.has_more_than(self._limits_then)

    @property
    def time_budget(self) -> TimeBudget | None:
        """Return the time until which trials may start; None without such a limit."""
        seconds = self._spending.budgets.time_s
        if seconds is None:
            return None
        return TimeBudget(seconds=seconds, ends_at=self._spending.began_at + seconds)

    # -- while it runs

    def apply(self, event: Event) -> None:
        """Count one event of the journal."""
        self._spending.apply(event)

    def not_run(self, trial: Trial) -> TrialResult | None:
        """Return the row of a trial that there is no room for; None where it may start."""
        by = self._spending.exhausted_by()
        reason = f"{by} had ended"
        if trial.stage is not Stage.CONFIRM and self._search is not None:
            # What ran at the cut goes on to its end, and so it does once it was broken off.
            is_cut = "search" in self._cut_by and not self._spending.has_begun(trial)
            by = self._cut_by["search"] if is_cut else self._spending.too_much(trial)
            reason = f"{by} had no room for it"
            if by and "search" not in self._cut_by:
                self._cut("search", by)
        return TrialResult(state=TrialState.NOT_RUN, reason=reason) if by else None

    def launched(self, trials: Sequence[Trial]) -> None:
        """Count trials that are about to start."""
        self._spending.expect(trials)

    def skipped(self, trial: Trial) -> None:
        """Tell the search that a trial is not run in this process."""
        if self._search is not None:
            self._search.skip(trial)

    def resumed(self) -> None:
        """Tell the search that this process runs what the one before it did not."""
        if self._search is not None:
            self._search.resume()

    def go_on(self, trials: int | None) -> None:
        """Let the search go on after a cut, or to more configs."""
        self._record(Continued(trials=trials))
        self._went_on(trials)

    def _may_start(self, configs: Sequence[Mapping[str, Any]], *, kept_back: bool) -> bool:
        """Return True if the confirm stage may begin, or go on with another round."""
        if "confirm" in self._cut_by:
            return False
        if self._replaying:
            return True
        by = self._spending.too_much_to_confirm(configs, kept_back=kept_back)
        if not by:
            return True
        self._cut("confirm", by, left_out=kept_back)
        return False

    def _cut(self, part: str, by: str, *, left_out: bool = False) -> None:
        limits, text = self._spending.budgets.limits, self._note(part, by, left_out=left_out)
        cut = Cut(part=part, by=by, limits=limits, text=text)
        self._record(cut)
        self._take_cut(cut)
        self._record(Noted(text=text))

    def _note(self, part: str, by: str, *, left_out: bool) -> str:
        if part == "confirm" and left_out:
            return f"{by} had no room for a confirm stage, so no speed-up is claimed"
        if part == "confirm":
            return f"{by} ended the confirm stage: its later runs were left out"
        num = self._spending.num_untried
        if num is None:
            return f"{by} ended the search"
        if not num:
            return f"{by} ended the search: further runs of its configs were left out"
        counted = "1 config was" if num == 1 else f"{num:,} configs were"
        return f"{by} ended the search: {counted} not tried"

    # -- from the journal

    def replay(self, event: Event) -> None:
        """Count an event of an earlier process, and repeat the decision that it is."""
        self._replaying = True
        self.apply(event)
        if isinstance(event, Cut):
            self._take_cut(event)
        elif isinstance(event, Continued):
            self._went_on(event.trials)
        elif isinstance(event, Resumed):
            self.resumed()

    def replayed(self) -> None:
        """Decide by the clock again: the journal has been repeated."""
        self._replaying = False

    def _take_cut(self, cut: Cut) -> None:
        self._cut_by[cut.part], self._texts[cut.part] = cut.by, cut.text
        self._limits_then = cut.limits
        if cut.part == "search" and self._search is not None:
            self._search.cut()

    def _went_on(self, trials: int | None) -> None:
        self._cut_by.clear()
        self._texts.clear()
        if self._search is not None:
            self._search.go_on(trials)

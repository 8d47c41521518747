"""Thinning: of a trial that reports all the time one report each half second is kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.kernel.events import Reported
from orchestrator.trial import BlockRow

MOST_REPORTS: Final = 200
"""First reports of a trial that are all kept."""
EVERY_S: Final = 0.5
"""Time of a trial of which the first report is kept, s; the first of each epoch is kept as well."""
NOTE: Final = (
    f"a trial reports all the time: after {MOST_REPORTS} reports one an epoch and one each "
    f"{EVERY_S:g} s is kept"
)


@dataclass
class _Flow:
    """The reports of a trial: their number, the last one kept, times of steps of those since."""

    num: int = 0
    epoch: int = 0
    elapsed_s: float = 0.0
    blocks: Sequence[BlockRow] = ()


class Thinner:
    """Decides which reports are kept; the same reports in the same order give the same."""

    def __init__(self) -> None:
        self._flows: defaultdict[str, _Flow] = defaultdict(_Flow)

    def restart(self, trial_id: str) -> None:
        """Begin anew: another process of the trial has started."""
        self._flows.pop(trial_id, None)

    def keeps(self, trial_id: str, epoch: int, elapsed_s: float) -> bool:
        """Return True if the next report of a trial, of this epoch and time, is kept."""
        flow = self._flows[trial_id]
        flow.num += 1
        since_s = elapsed_s - flow.elapsed_s
        if flow.num > MOST_REPORTS and epoch == flow.epoch and 0 <= since_s < EVERY_S:
            return False
        flow.epoch, flow.elapsed_s = epoch, elapsed_s
        return True

    def take(self, event: Reported) -> Reported | None:
        """Take a report; return it, with the times of steps of those before, or None."""
        report, flow = event.report, self._flows[event.trial_id]
        blocks = (*flow.blocks, *report.blocks)
        if not self.keeps(event.trial_id, report.epoch, report.elapsed_s):
            flow.blocks = blocks
            return None
        if not flow.blocks:
            return event
        flow.blocks = ()
        return replace(event, report=replace(report, blocks=blocks))

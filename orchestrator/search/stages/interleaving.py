"""The decision for each round whether its runs share their cores in time slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.search.stages.judge import Config, Results
from orchestrator.search.stages.sequence import Ledger

MayInterleave = Callable[[Sequence[Config], Results], bool]
"""Returns True if trials of these configs may be interleaved, given the results so far."""


def never(configs: Sequence[Config], results: Results) -> bool:
    """Return False: no trials may."""
    return False


class InterleavedOrNot:
    """Decides for each round, and leaves a note once rounds are no longer interleaved.

    Args:
        runs: Name of the runs in that note.
        may_interleave: Returns True if these configs may be, each as often as it is named.
    """

    def __init__(self, runs: str, may_interleave: MayInterleave) -> None:
        self._runs = runs
        self._may_interleave = may_interleave
        self._were_interleaved = False

    def next_round(self, configs: Sequence[Config], ledger: Ledger) -> bool:
        """Return True if a round of these configs is to be interleaved."""
        may = self._may_interleave(configs, ledger.results)
        if self._were_interleaved and not may:
            ledger.notes.append(
                f"{self._runs} are no longer interleaved, one runs after another: an interleaved "
                "one did not complete, or together they no longer fit into half of the memory"
            )
        self._were_interleaved = may
        return may

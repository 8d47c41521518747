"""Whether the runs of a round take turns, decided anew for each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.search.stages.judge import Config, Results
from orchestrator.search.stages.sequence import Ledger

MayInterleave = Callable[[Sequence[Config], Results], bool]
"""Whether trials of these configs may take turns on the same cores, given the results so far."""


def never(configs: Sequence[Config], results: Results) -> bool:
    """None may."""
    return False


class InterleavedOrNot:
    """Says so where rounds took turns and no longer may.

    Args:
        runs: Whose rounds these are, as the user is told.
        may_interleave: Whether these configs may, each as often as it is named.
    """

    def __init__(self, runs: str, may_interleave: MayInterleave) -> None:
        self._runs = runs
        self._may_interleave = may_interleave
        self._were_interleaved = False

    def next_round(self, configs: Sequence[Config], ledger: Ledger) -> bool:
        """Whether a round that has these configs resident together takes turns."""
        may = self._may_interleave(configs, ledger.results)
        if self._were_interleaved and not may:
            ledger.notes.append(
                f"{self._runs} take no more turns, one runs after another: one that took turns "
                "did not complete, or they no longer fit into half of the memory together"
            )
        self._were_interleaved = may
        return may

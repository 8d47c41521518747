"""Whether the runs of a round take turns, decided anew for each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.search.stages.judge import Config, Results
from orchestrator.search.stages.sequence import Ledger

MayTakeTurns = Callable[[Sequence[Config], Results], bool]
"""Whether trials of these configs may take turns on the same cores, given the results so far."""


def never(configs: Sequence[Config], results: Results) -> bool:
    """None may."""
    return False


class TurnsOrNot:
    """Says so where rounds took turns and no longer may.

    Args:
        runs: Whose rounds these are, as the user is told.
        may_take_turns: Whether these configs may, each as often as it is named.
    """

    def __init__(self, runs: str, may_take_turns: MayTakeTurns) -> None:
        self._runs = runs
        self._may_take_turns = may_take_turns
        self._took_turns = False

    def next_round(self, configs: Sequence[Config], ledger: Ledger) -> bool:
        """Whether a round that has these configs resident together takes turns."""
        may = self._may_take_turns(configs, ledger.results)
        if self._took_turns and not may:
            ledger.notes.append(
                f"{self._runs} take no more turns, one runs after another: one that took turns "
                "did not complete, or they no longer fit into half of the memory together"
            )
        self._took_turns = may
        return may

"""A round of the check of company: each of a few configs alone and beside others.

In turns where that may be, else in stretches: first all that run alone, then all that run beside
others, or the other way about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from orchestrator.search.base import WAIT, Pause, Proposal
from orchestrator.search.candidates import Key, config_of
from orchestrator.search.stages.sequence import Ledger
from orchestrator.trial import Stage, Trial, TrialResult, TrialState

AMPLE: Final = 20
"""Times what is measured beside it that a companion could train for: it is stopped long before."""


class Companions:
    """Those that train beside what is measured, over all rounds.

    Args:
        at_once: Trials that fill all nodes.
        num_rounds: Rounds; their numbers are those of what is measured.
    """

    def __init__(self, at_once: int, num_rounds: int) -> None:
        self.at_once = at_once
        self.num_out = 0
        self.have_failed = False
        self._number = num_rounds

    @property
    def num_missed(self) -> int:
        """How many more would fill the nodes; none once one of them has failed."""
        return 0 if self.have_failed else self.at_once - 1 - self.num_out

    def tell(self, result: TrialResult) -> None:
        """One of them has ended."""
        self.num_out -= 1
        self.have_failed |= result.state in (TrialState.FAILED, TrialState.INFEASIBLE)

    def another(self, ledger: Ledger, keys: Sequence[Key], *, interleaved: bool) -> Proposal:
        """One more, with budget for all that is measured beside it. It ends by being stopped."""
        key = keys[self.num_out % len(keys)]
        self.num_out += 1
        self._number += 1
        budget = ledger.problem.budget.times(AMPLE * len(keys))
        return Proposal(
            config=config_of(ledger.problem, key),
            budget=replace(budget, half_width=None),
            stage=Stage.PROBE,
            repeat=self._number,
            interleaved=interleaved,
            companion=True,
        )


class Round(Protocol):
    """A round."""

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """The next run; ``WAIT`` until more have ended; None at the end."""

    def tell(self, trial: Trial) -> None:
        """One that is measured has ended."""

    @property
    def needs_company(self) -> bool:
        """Whether companions are to stay."""


class InTurns:
    """A round in which all take turns on the same cores, companions in those that are not alone.

    Args:
        measured: What is measured.
        companions: Where company comes from.
        keys: The configs.
    """

    def __init__(
        self, measured: Sequence[Proposal], companions: Companions, keys: Sequence[Key]
    ) -> None:
        self._left = [replace(proposal, interleaved=True) for proposal in measured]
        self._num_measured = len(measured)
        self._companions = companions
        self._keys = keys
        self._to_fill = companions.num_missed

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """All at once; then nothing until they have ended."""
        if self._left:
            return self._left.pop(0)
        if self._to_fill > 0:
            self._to_fill -= 1
            return self._companions.another(ledger, self._keys, interleaved=True)
        return WAIT if ledger.num_out else None

    def tell(self, trial: Trial) -> None:
        """One that is measured has ended."""
        self._num_measured -= 1

    @property
    def needs_company(self) -> bool:
        """Until all that is measured has ended."""
        return self._num_measured > 0


class Stretch:
    """Runs of one way, one after another.

    Companions are asked for first and end after what is measured: so nobody is alone at its start
    or its end.

    Args:
        measured: What is measured, in this order.
        companions: Where company comes from; None for runs that are alone.
        keys: The configs.
    """

    def __init__(
        self, measured: Sequence[Proposal], companions: Companions | None, keys: Sequence[Key]
    ) -> None:
        self._left = list(measured)
        self._companions = companions
        self._keys = keys
        self._is_measuring = False
        self._to_fill = companions.num_missed if companions else 0

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """Company, and more where some has ended, else the next to be measured."""
        companions = self._companions
        if companions and companions.num_missed > 0 and (self._to_fill > 0 or self._is_measuring):
            self._to_fill = max(self._to_fill - 1, 0)
            return companions.another(ledger, self._keys, interleaved=False)
        if self._left and not self._is_measuring:
            self._is_measuring = True
            return self._left.pop(0)
        return WAIT if ledger.num_out else None

    def tell(self, trial: Trial) -> None:
        """What was measured has ended."""
        self._is_measuring = False

    @property
    def needs_company(self) -> bool:
        """Until all that is measured has ended."""
        return self._is_measuring or bool(self._left)

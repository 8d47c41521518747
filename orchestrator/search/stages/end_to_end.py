"""One more config of the front, trained whole: its composed time against a measured one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.kernel.search import WAIT, Pause, Proposal
from orchestrator.search.stages.allowance import Allowance
from orchestrator.search.stages.judge import Config
from orchestrator.search.stages.sequence import FullBudget, Ledger
from orchestrator.trial import Stage


class EndToEnd(FullBudget):
    """Trains the end of the front that lies farthest from the recommended config, once and whole.

    The recommended config itself was trained whole for its test accuracy. With it there are two
    configs whose composed figures have a measured one beside them, at seeds that no other stage
    has. The test split is not looked at.

    Args:
        front: Returns the configs of the composed front, the fastest first.
        allowance: The run is left out, with a note, where there is no room for it; and where a
            budget has none.
    """

    def __init__(self, *, front: Callable[[], Sequence[Config]], allowance: Allowance) -> None:
        self._front = front
        self._allowance = allowance
        self._is_asked = False

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """Return the training, once."""
        if ledger.num_out:
            return WAIT
        config = None if self._is_asked else self._other(ledger)
        self._is_asked = True
        if config is None:
            return None
        if not self._allowance.has_room(ledger, whole=[config]):
            ledger.notes.append(
                "of the front only the recommended config was trained from end to end: a second "
                "one would take the confirm stage beyond its share of the search's time"
            )
            return None
        if not ledger.may_start([config], kept_back=False):
            return None
        repeats = [trial.repeat for trial, _ in ledger.results if trial.stage is Stage.CONFIRM]
        return Proposal(
            config=config,
            budget=ledger.problem.budget,
            stage=Stage.CONFIRM,
            repeat=max(repeats) + 1,
            isolated=True,
        )

    def _other(self, ledger: Ledger) -> Config | None:
        """Return an end of the front that is not the tested config: the more distant one."""
        tested = [dict(trial.config) for trial, _ in ledger.results if trial.evaluate_test]
        front = [dict(config) for config in self._front()]
        if not tested or not front:
            return None
        place = front.index(tested[-1]) if tested[-1] in front else 0
        ends = [front[-1], front[0]] if place < len(front) / 2 else [front[0], front[-1]]
        return next((config for config in ends if config not in tested), None)

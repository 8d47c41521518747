"""The confirm stage: the finalists and the baseline once more, in rounds."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from orchestrator.search.base import WAIT, Pause, Proposal
from orchestrator.search.stages.interim_analyses import InterimAnalyses
from orchestrator.search.stages.interleaving import InterleavedOrNot, MayInterleave, never
from orchestrator.search.stages.judge import Config, Judge
from orchestrator.search.stages.sequence import FullBudget, Ledger
from orchestrator.trial import Stage, Trial, TrialResult, TrialState

MAX_TEST_RUNS: Final = 2
"""Runs that may look at the test split: one more where the first does not complete."""


class Confirming(FullBudget):
    """What the claimed speed-up rests on.

    Once all trials have ended the judge names the finalists, the selected one first. They and
    the baseline are then run with the whole budget in rounds: each once a round, alone on its
    node. Where they may, those of a round take turns on the same cores, so that what the host
    does meanwhile meets all of them alike; else one runs after another, in random order. At each
    look the judge is asked whether what there is decides; the rounds end where it does, or after
    the last look. Only then is it known what is recommended, which need not be what was selected:
    that is run once more, and the test split is looked at in this run and in no other.

    A config that proves infeasible, here or in the search, is not run again, nor is one of which
    no run completed up to the first look. Where the baseline is such, or a selected config is
    the baseline and has no rival, there is nothing to be compared with: what is left runs as
    often as the first look asks for.

    Args:
        looks: Rounds after which it may end.
        judge: Names the finalists, says when they are decided and what is recommended then.
        may_interleave: Whether these configs may, given the results so far. Default: never.
    """

    def __init__(
        self,
        *,
        looks: InterimAnalyses,
        judge: Judge,
        may_interleave: MayInterleave = never,
    ) -> None:
        self._looks = looks
        self._judge = judge
        self._turns = InterleavedOrNot("confirm runs", may_interleave)
        self._interleaved = False
        self._configs: list[Config] | None = None
        self._num_finalists = 0
        self._round: list[Config] = []
        self._num_rounds = 0
        self._to_test: list[Config] | None = None

    def ask(self, ledger: Ledger) -> Proposal | Pause | None:
        """The next trial of this round, or the first of the next one; at last the test run."""
        if ledger.num_out and not (self._interleaved and self._round):
            return WAIT
        if self._configs is None:
            self._configs = self._compared(ledger)
        if self._to_test is None and (self._round or not self._is_over(ledger)):
            return self._confirm(ledger)
        if self._to_test is None:
            self._to_test = self._recommended(ledger)
        return self._test(ledger) if self._to_test else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Remembers whether the test split was looked at."""
        if trial.evaluate_test and result.state is TrialState.COMPLETED:
            self._to_test = []

    def _compared(self, ledger: Ledger) -> list[Config]:
        """The finalists in their canonical form, then the baseline if it is none of them."""
        canonical = ledger.problem.canonical
        finalists = [dict(canonical(config)) for config in self._judge.finalists(ledger.results)]
        baseline = dict(ledger.problem.baseline)
        added = [baseline] if finalists and baseline not in finalists else []
        self._num_finalists = len(finalists)
        return [*finalists, *added]

    def _able(self, configs: Sequence[Config], ledger: Ledger) -> list[Config]:
        """Those of them that are worth another run."""
        return [config for config in configs if not self._is_lost(config, ledger)]

    def _is_lost(self, config: Config, ledger: Ledger) -> bool:
        """Whether it proved infeasible, or none of its runs up to the first look completed."""
        runs = [(t.stage, r.state) for t, r in ledger.results if dict(t.config) == config]
        confirmed = [state for stage, state in runs if stage is Stage.CONFIRM]
        never = TrialState.COMPLETED not in confirmed and len(confirmed) >= self._looks.at[0]
        return never or any(state is TrialState.INFEASIBLE for _, state in runs)

    def _is_over(self, ledger: Ledger) -> bool:
        configs = self._configs or []
        finalists = self._able(configs[: self._num_finalists], ledger)
        if not finalists or self._num_rounds >= self._looks.at[-1]:
            return True
        if self._num_rounds not in self._looks.at:
            return False
        compared = self._able(configs, ledger)
        has_baseline = dict(ledger.problem.baseline) in compared
        return not has_baseline or len(compared) == 1 or self._judge.is_decided(ledger.results)

    def _confirm(self, ledger: Ledger) -> Proposal:
        assert self._configs
        if not self._round:
            rng = random.Random(f"confirm {self._num_rounds} of {ledger.problem.seed}")
            configs = self._able(self._configs, ledger)
            self._round = rng.sample(configs, len(configs))
            self._num_rounds += 1
            self._interleaved = len(configs) > 1 and self._turns.next_round(configs, ledger)
        return replace(self._proposal(ledger, self._round.pop(0)), interleaved=self._interleaved)

    def _recommended(self, ledger: Ledger) -> list[Config]:
        """What is to be tested, once for each run that may be made of it."""
        config = self._judge.recommended(ledger.results) if self._configs else None
        return [] if config is None else [dict(ledger.problem.canonical(config))] * MAX_TEST_RUNS

    def _test(self, ledger: Ledger) -> Proposal:
        assert self._to_test
        # A round of its own: it has no partner and takes no part in what is claimed.
        self._num_rounds += 1
        return replace(self._proposal(ledger, self._to_test.pop(0)), evaluate_test=True)

    def _proposal(self, ledger: Ledger, config: Config) -> Proposal:
        return Proposal(
            config=config,
            budget=ledger.problem.budget,
            stage=Stage.CONFIRM,
            repeat=self._num_rounds - 1,
            isolated=True,
        )

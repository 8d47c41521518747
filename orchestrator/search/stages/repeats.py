"""Repeats of the best configs, until the measurements separate them."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.kernel.problem import Key, config_of, key_of
from orchestrator.kernel.search import Pause, PlannedStage, Proposal
from orchestrator.search.stages.judge import MAX_CONTENDERS, Judge
from orchestrator.search.stages.sequence import Ledger, Phase, at_most
from orchestrator.trial import Stage


@dataclass(kw_only=True, eq=False)
class Repeating(Phase):
    """Rounds of repeats.

    Once all trials have ended the judge names the configs that need one more run to find the best.
    Each runs once, in random order; then the judge is asked again, until it names none or there
    were as many repeats as planned.

    Attributes:
        runs: Runs of each config by the search.
        max_runs: Most runs of a config, with those of the search.
        judge: Names the configs.
    """

    runs: int
    max_runs: int
    judge: Judge
    _num_rounds = _num_repeats = 0

    def planned(self, num_configs: int | None) -> Sequence[PlannedStage]:
        """Return the most repeats; none of a sole config."""
        configs, more = at_most(num_configs, 1 + MAX_CONTENDERS), self.max_runs - self.runs
        if configs < 2 or more < 1:
            return ()
        text = (
            f"the best config and up to {MAX_CONTENDERS} that the measurements do not separate "
            f"from it, until each has {self.max_runs} runs"
        )
        return [PlannedStage(name="repeats", least=0, most=configs * more, text=text)]

    def trials(self, ledger: Ledger) -> Iterator[Proposal | Pause | None]:
        """Yield the repeats round by round, None after a round without any."""
        while True:
            yield from ledger.wait()
            keys = self._next_round(ledger)
            for key in keys:
                config, repeat = config_of(ledger.problem, key), ledger.num_asked[key]
                yield ledger.run(config, Stage.TRAIN, repeat, isolated=False)
            if not keys:
                yield None

    def go_on(self, trials: int | None) -> None:
        """Ask the judge again: there are more configs."""
        self._num_repeats = 0

    def _next_round(self, ledger: Ledger) -> list[Key]:
        configs = self.judge.to_repeat(ledger.results, max_runs=self.max_runs)
        named = [key_of(ledger.problem, config) for config in configs]
        # A run that failed counts: what never completes must not be repeated for ever.
        keys = [key for key in named if ledger.num_asked[key] < self.max_runs]
        most = (1 + MAX_CONTENDERS) * (self.max_runs - self.runs)
        keys = keys[: max(most - self._num_repeats, 0)]
        self._num_repeats += len(keys)
        self._num_rounds += 1
        random.Random(f"repeats {self._num_rounds} of {ledger.problem.seed}").shuffle(keys)
        return keys

"""Choice of the recorded run that a trial plays.

A run is drawn whole, and by one trial only: what a search has seen is not what a claim rests on.
The runs of a trial's config are ordered by

1. the number of trials that have drawn them: none, unless repeats may be reused;
2. their stage: the trial's before ``train``, which probes and confirm runs are drawn from where
   too few of their stage were recorded;
3. their seed and repeat: the very run first;
4. their length: long enough before those that a search stopped earlier, which only trainings draw;
5. their isolation and test split: as the trial's first;
6. a random order of the replay's seed.
"""

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from orchestrator.formats import counted
from orchestrator.metrics import FIRST_LOSS
from orchestrator.replay.recorded import RecordedRun, Recording, ReplayError
from orchestrator.replay.segment import shortfall
from orchestrator.trial import Budget, Stage, Trial

_OF_ONE_SEED: Final = (FIRST_LOSS, "batches")
"""Fingerprints, which trials of the same seed are compared by."""


class Drawing:
    """Hands out recorded runs, each once.

    Args:
        recordings: The runs, in the order in which they were asked for.
        source: Where they are from, for messages.
        seed: Seed of the order in which they are drawn.
        reuse: True where runs may be drawn again once all were.
    """

    def __init__(
        self,
        recordings: Iterable[Recording],
        *,
        source: str = "the table",
        seed: int = 0,
        reuse: bool = False,
    ) -> None:
        self._source, self._seed, self._reuse = source, seed, reuse
        self._pools: dict[str, list[Recording]] = {}
        self._num_drawn: Counter[int] = Counter()  # by identity
        for recording in recordings:
            self._pools.setdefault(config_key(recording.trial.config), []).append(recording)

    def draw(self, trial: Trial) -> RecordedRun:
        """Return the run that ``trial`` plays.

        Raises:
            ReplayError: Its config was not tried, its budget is longer than what was recorded, or
                all runs of the config were drawn.
        """
        able = self.able(trial.config, trial.stage, trial.budget)
        rng = random.Random(f"runs of {config_key(trial.config)}, {self._seed}")
        order = rng.sample(able, len(able))
        chosen = min(order, key=lambda recording: self._rank(trial, recording))
        if self._num_drawn[id(chosen)] and not self._reuse:
            raise ReplayError(
                f"{self._source}: has {counted(len(able), 'run')} to draw for stage "
                f"{trial.stage} of {_named(trial.config)}, and one more is asked for",
                "record more repeats, ask for fewer (--set, another search), or give "
                "--set replay.reuse_repeats=true",
            )
        self._num_drawn[id(chosen)] += 1
        if chosen.trial.seed == trial.seed:
            return chosen.run
        return chosen.run.only(lambda name: name not in _OF_ONE_SEED)

    def able(self, config: Mapping[str, Any], stage: Stage, budget: Budget) -> list[Recording]:
        """Return the runs that a trial may play, drawn ones among them; at least one.

        Raises:
            ReplayError: There is none, and never was.
        """
        pool = self._pools.get(config_key(config), [])
        of_stage = [one for one in pool if one.trial.stage in (stage, Stage.TRAIN)]
        if not of_stage:
            recorded = ", ".join(sorted({one.trial.stage for one in pool}))
            only = f" for stage {stage}, only for {recorded}" if pool else ""
            raise ReplayError(
                f"{self._source}: has no run of {_named(config)}{only}",
                "a replay tries what was recorded: leave it out of the space, or record it",
            )
        able = [
            one
            for one in of_stage
            if not shortfall(one.run, budget) or (stage is Stage.TRAIN and one.run.was_stopped)
        ]
        if not able:
            longest = max(of_stage, key=lambda one: one.run.num_epochs)
            raise ReplayError(
                f"{self._source}: no run of {_named(config)} is long enough: "
                f"{shortfall(longest.run, budget)}",
                "ask for a budget that was recorded",
            )
        return able

    def _rank(self, trial: Trial, recording: Recording) -> tuple[Any, ...]:
        recorded = recording.trial
        return (
            self._num_drawn[id(recording)],
            recorded.stage is not trial.stage,
            (recorded.seed, recorded.repeat) != (trial.seed, trial.repeat),
            bool(shortfall(recording.run, trial.budget)),
            recorded.isolated is not trial.isolated,
            recorded.evaluate_test is not trial.evaluate_test,
        )


def config_key(config: Mapping[str, Any]) -> str:
    """Return a text that is the same for the same config, from a journal or not."""
    return json.dumps(dict(config), sort_keys=True, default=str)


def _named(config: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in config.items())

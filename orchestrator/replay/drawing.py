"""Choice of the recorded run that a trial is given.

A run is drawn whole, and by one trial only: what a search has seen is not what a claim rests on.
Of the runs of a trial's config come first

1. those that fewer trials have drawn: none, unless repeats may be reused;
2. those of its stage, before those of stage ``train``, from which probes and confirm runs are
   drawn where too few of their own were recorded;
3. the very run: of the same seed and repeat;
4. those that are long enough, before those that a search had stopped earlier;
5. those that were isolated, and looked at the test split, as the trial is to;
6. the others, in an order drawn by the replay's seed.

One that a search had stopped before the trial's end is drawn only where the search may stop the
trial too.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from orchestrator.metrics import FIRST_LOSS
from orchestrator.replay.recorded import RecordedRun, ReplayError
from orchestrator.replay.segment import is_cut_short, shortfall
from orchestrator.trial import Budget, Stage, Trial

V = TypeVar("V")

_DRAWN_FROM: Final[Mapping[Stage, Sequence[Stage]]] = {
    Stage.PROBE: (Stage.PROBE, Stage.TRAIN),
    Stage.TRAIN: (Stage.TRAIN,),
    Stage.CONFIRM: (Stage.CONFIRM, Stage.TRAIN),
}
"""The stages of recorded runs that a trial may be given, by its own stage."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A recorded run, and the trial that it was.

    Attributes:
        trial: The trial; of a curve in pieces the last of them.
        run: The run.
    """

    trial: Trial
    run: RecordedRun


class Drawing:
    """Hands out recorded runs, each once.

    Args:
        recordings: The runs, in the order in which they were asked for.
        source: Where they are from, for messages.
        seed: Seed of the order in which they are drawn.
        reuse: True where runs may be drawn again once all were.
        may_stop: True where the search may stop its trainings before their end.
    """

    def __init__(
        self,
        recordings: Iterable[Recording],
        *,
        source: str = "the table",
        seed: int = 0,
        reuse: bool = False,
        may_stop: bool = False,
    ) -> None:
        self._may_stop = may_stop
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
        may_stop = self._may_stop and trial.stage is Stage.TRAIN
        able = self.able(trial.config, trial.stage, trial.budget, may_stop=may_stop)
        order = self._shuffled(trial, able)
        chosen = min(order, key=lambda recording: self._rank(trial, recording))
        if self._num_drawn[id(chosen)] and not self._reuse:
            raise ReplayError(
                f"{self._source}: has {_counted(len(able), 'run')} to draw for stage "
                f"{trial.stage} of {self.named(trial.config)}, and one more is asked for",
                "record more repeats, ask for fewer (--set, another search), or give "
                "--set replay.reuse_repeats=true",
            )
        self._num_drawn[id(chosen)] += 1
        same_seed = chosen.trial.seed == trial.seed
        return chosen.run if same_seed else _without_fingerprint(chosen.run)

    def able(
        self, config: Mapping[str, Any], stage: Stage, budget: Budget, *, may_stop: bool = False
    ) -> list[Recording]:
        """Return the runs that a trial may be given, drawn ones among them; at least one.

        Args:
            config: Of the trial.
            stage: Its purpose.
            budget: Its length.
            may_stop: True where the search may stop it earlier.

        Raises:
            ReplayError: There is none, and never was.
        """
        pool = self._pools.get(config_key(config), [])
        if not pool:
            raise ReplayError(
                f"{self._source}: has no run of {self.named(config)}",
                "a replay tries what was recorded: leave it out of the space, or record it",
            )
        of_stage = [one for one in pool if one.trial.stage in _DRAWN_FROM[stage]]
        if not of_stage:
            recorded = ", ".join(sorted({one.trial.stage for one in pool}))
            raise ReplayError(
                f"{self._source}: has no run for stage {stage} of {self.named(config)}, only of "
                f"{recorded}"
            )
        able = [
            one
            for one in of_stage
            if not shortfall(one.run, budget) or (may_stop and is_cut_short(one.run))
        ]
        if not able:
            longest = max(of_stage, key=lambda one: one.run.num_epochs)
            raise ReplayError(
                f"{self._source}: no run of {self.named(config)} is long enough: "
                f"{shortfall(longest.run, budget)}",
                "ask for a budget that was recorded",
            )
        return able

    def run_of(self, trial: Trial) -> str:
        """Return how the run of a trial is named in messages."""
        return f"{self._source}: the run of {self.named(trial.config)}"

    def named(self, config: Mapping[str, Any]) -> str:
        """Return a config by the knobs that tell it from a recorded one."""
        recorded = [one.trial.config for pool in self._pools.values() for one in pool]
        telling = {
            name: value
            for name, value in config.items()
            if any(config_key({"": value}) != config_key({"": one.get(name)}) for one in recorded)
        }
        return " ".join(f"{name}={value}" for name, value in (telling or config).items())

    def _shuffled(self, trial: Trial, able: Sequence[Recording]) -> list[Recording]:
        order = random.Random(f"runs of {config_key(trial.config)}, {self._seed}")
        return order.sample(able, len(able))

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


def _without_fingerprint(run: RecordedRun) -> RecordedRun:
    """Return the run without what trials of one seed are compared by: it was another seed's."""
    if "batches" not in run.tags and FIRST_LOSS not in run.metrics:
        return run
    reports = [
        replace(report, metrics=_left(report.metrics), tags=_left(report.tags))
        for report in run.reports
    ]
    return replace(run, reports=reports, metrics=_left(run.metrics), tags=_left(run.tags))


def _left(known: Mapping[str, V]) -> dict[str, V]:
    return {name: value for name, value in known.items() if name not in (FIRST_LOSS, "batches")}


def config_key(config: Mapping[str, Any]) -> str:
    """Return a text that is the same for the same config, from a journal or not."""
    return json.dumps(dict(config), sort_keys=True, default=str)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

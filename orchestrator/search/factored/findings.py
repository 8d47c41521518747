"""Findings of a factored search: speeds of settings, curves, fingerprints."""

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from orchestrator.kernel.problem import Key, config_of, key_of
from orchestrator.kernel.search import Proposal
from orchestrator.metrics import FIRST_LOSS
from orchestrator.rules import cost_of
from orchestrator.search.factored.factors import Factors, Goals, Group
from orchestrator.search.factored.speed_model import SpeedModel
from orchestrator.search.factored.speeds import Speeds
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

LEVEL: Final = 0.05
"""Probability that a setting is dropped that is faster than the one picked, over the search."""

MODELLED_FROM: Final = 20
"""Settings from which on a model of the speeds decides which of them are probed again."""

Figures = tuple[float, ...]
"""Learned figures, the larger the better."""


@dataclass(eq=False)
class Curve:
    """A training of a config, as far as it has come.

    Attributes:
        config: The config that it is trained with.
        repeat: 0 for the first one.
        history: Epochs and figures of the reports and the ends so far.
        epochs: Epochs trained.
        is_over: True where it is not to be trained further, however it ended.
        is_lost: True where it diverged, could not run or failed.
        step_ms: Duration of a steady step, of each part that was trained.
    """

    config: Key
    repeat: int
    history: list[tuple[int, Figures]] = field(default_factory=list)
    epochs: int = 0
    is_over: bool = False
    is_lost: bool = False
    step_ms: list[float] = field(default_factory=list)

    @property
    def figures(self) -> Figures | None:
        """The last figures; None where there are none, or it is lost."""
        return self.history[-1][1] if self.history and not self.is_lost else None

    def figures_at(self, epochs: int) -> Figures | None:
        """Return the last figures of so many epochs; a curve may have been trained further."""
        known = [] if self.is_lost else [each for at, each in self.history if at <= epochs]
        return known[-1] if known else None

    def seen(self, epoch: int, figures: Figures | None) -> None:
        """Take figures after so many epochs."""
        self.epochs = max(self.epochs, epoch)
        if figures is not None:
            self.history.append((epoch, figures))


class Fingerprint(NamedTuple):
    """Hash of the first batches, empty without one; loss of the first step, NaN without one."""

    batches: str
    first_loss: float


class Findings:
    """The store that all stages of the search read; :meth:`tell` takes the results."""

    def __init__(self, factors: Factors, num_looks: int = 1) -> None:
        self.factors = factors
        self.problem = factors.problem
        self.goals = Goals(self.problem)
        self.speeds = Speeds(self.goals, factors.num_settings * num_looks, LEVEL)
        is_modelled = factors.num_settings >= MODELLED_FROM and not self.goals.others
        self.model = SpeedModel(factors) if is_modelled else None
        self.curves: dict[tuple[Key, int], Curve] = {}
        self.fingerprints: dict[Key, Fingerprint] = {}
        self.checked = set[str]()  # systems knobs whose role was
        self.notes: list[str] = []
        self.samples_per_epoch = 0.0
        self.spent_s = defaultdict[Stage, float](float)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take the result of a trial."""
        key = key_of(self.problem, trial.config)
        self.spent_s[trial.stage] += result.wall_s or 0.0
        if trial.stage is Stage.PROBE:
            self.speeds.add(self.factors.setting_of(key), result)
            if trial.repeat == 0 and result.state is TrialState.COMPLETED:
                loss = result.metrics.get(FIRST_LOSS, math.nan)
                self.fingerprints[key] = Fingerprint(result.tags.get("batches", ""), loss)
            return
        if not self.factors.has_choice:
            # Nothing was probed: trainings, and parts of them, give the speed.
            self.speeds.add(self.factors.setting_of(key), result)
        self._ended(self.curve(key, trial.repeat), trial, result)

    def reported(self, trial: Trial, report: Report) -> Curve:
        """Take a report of a training, and return its curve."""
        curve = self.curve(key_of(self.problem, trial.config), trial.repeat)
        if report.epoch:
            self.samples_per_epoch = max(self.samples_per_epoch, report.samples / report.epoch)
        curve.seen(report.epoch, self.goals.figures(report.metrics))
        return curve

    def curve(self, config: Key, repeat: int = 0) -> Curve:
        """Return the curve of a config and repeat, a new one where there is none."""
        return self.curves.setdefault((config, repeat), Curve(config=config, repeat=repeat))

    def config(self, key: Key) -> dict[str, Any]:
        """Return the config of a key."""
        return config_of(self.problem, key)

    def training(self, curve: Curve, until: int) -> Proposal:
        """Return the training of a curve until so many epochs, its pause where that is no end."""
        return Proposal(
            config=self.config(curve.config),
            budget=self.problem.budget.until(until),
            repeat=curve.repeat,
        )

    def shuffled(self, proposals: Sequence[Proposal], which: str) -> list[Proposal]:
        """Return proposals in a random order of the problem's seed."""
        order = list(proposals)
        random.Random(f"{which} of {self.problem.seed}").shuffle(order)
        return order

    def by_preference(self, group: Group) -> list[Key]:
        """Return the settings of a group that can run, the one to train with first.

        It is the cheapest of the settings that tie with the fastest; the others follow by speed.
        """
        able = sorted(self.speeds.able(group.settings), key=self.speeds.mean, reverse=True)
        ties = self.speeds.ties(group.settings)
        cheapest = sorted(ties, key=lambda setting: self._cost(group, setting))[:1]
        return cheapest + [each for each in able if each not in cheapest]

    def trained_with(self, group: Group, curve: Key) -> Key | None:
        """Return the config to train a curve with; None where no setting of it can run.

        One that has begun, to check a role, before more were asked for or in an earlier run, keeps
        its setting; the baseline with its own setting is trained for a check alone.
        """
        found = [group.configs.get((each, curve)) for each in self.by_preference(group)]
        configs = [key for key in found if key is not None]
        begun = {key: self.curves[key, 0].epochs for key in configs if (key, 0) in self.curves}
        begun.pop(self.factors.candidates.keys[0], None)
        return max(begun, key=begun.__getitem__, default=next(iter(configs), None))

    def fastest(self, group: Group) -> Key:
        """Return the fastest setting of a group by the means so far."""
        return max(self.speeds.able(group.settings) or group.settings, key=self.speeds.mean)

    def log_speed(self, group: Group) -> float:
        """Return the mean logarithm of the speed of the group's fastest setting."""
        return self.speeds.mean(self.fastest(group))

    def mean_figures(self, config: Key) -> Figures | None:
        """Return the mean figures over the repeats of a config that were trained to their end."""
        ended: Sequence[Figures] = [
            curve.figures
            for (key, _), curve in self.curves.items()
            if key == config and curve.is_over and curve.figures is not None
        ]
        if not ended:
            return None
        return tuple(sum(column) / len(ended) for column in zip(*ended, strict=True))

    def _ended(self, curve: Curve, trial: Trial, result: TrialResult) -> None:
        figures = self.goals.figures(result.metrics)
        if result.state not in (TrialState.COMPLETED, TrialState.STOPPED) or figures is None:
            curve.is_lost = curve.is_over = True
            return
        epochs = int(result.metrics.get("epochs", trial.budget.end))
        if not curve.history or curve.history[-1][0] < epochs:
            curve.seen(epochs, figures)
        curve.is_over |= result.state is TrialState.COMPLETED or not trial.budget.is_part
        if not result.disturbed and (step_ms := result.metrics.get("step_ms", 0.0)) > 0:
            curve.step_ms.append(step_ms)

    def _cost(self, group: Group, setting: Key) -> tuple[float, ...]:
        config = self.config(group.to_probe(setting))
        return cost_of(
            config,
            self.speeds.metrics(setting),
            device=str(config.get("device", "cpu")),
            baseline=self.problem.baseline,
        )

"""Input of a factored search: groups, settings and curves of a space; what the search looks for."""

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from orchestrator.kernel.problem import Candidates, Key, SearchProblem
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Goal, Objective, is_learned
from orchestrator.space.knob import Role
from orchestrator.trial import TrialResult

RATE: Final = "samples_per_s"
"""Speed of a trial that does not report the sweep's own: one of another unit, or of a target."""

_COMPOSED: Final = (*OF_THE_TARGET, "cost", "energy_j")
"""Figures of a whole training, which a probe does not have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Configs that share the values of all knobs that are both systems and learning.

    Within it the speed depends on the setting alone, and what is learned on the curve alone.

    Attributes:
        settings: Values of the systems knobs and of the group: speed depends on these.
        curves: Values of the learning knobs and of the group: learning depends on these. The first
            is the baseline's where it has one with the same learning knobs.
        halfway: Further curves, halfway between two of these, which are trained beside good ones.
        configs: The configs by setting and curve. Constraints may leave some out.
    """

    settings: tuple[Key, ...]
    curves: tuple[Key, ...]
    halfway: tuple[Key, ...]
    configs: Mapping[tuple[Key, Key], Key]

    def to_probe(self, setting: Key) -> Key:
        """Return the config that a setting is probed with.

        Its curve is the first that has the setting, so that nearly all settings have the same.
        """
        pairs = ((setting, curve) for curve in (*self.curves, *self.halfway))
        return next(self.configs[pair] for pair in pairs if pair in self.configs)


class Factors:
    """The groups of a space.

    Args:
        candidates: The configs.
        roles: Roles of the knobs. Default: as declared.
        halved: Values of a learning knob that lie halfway between its points.
    """

    def __init__(
        self,
        candidates: Candidates,
        roles: Mapping[str, Role] | None = None,
        halved: Mapping[str, Sequence[Any]] = {},
    ) -> None:
        self.candidates = candidates
        self.halved = halved
        self.problem = candidates.problem
        self.roles = dict(roles or self.problem.roles)
        self._setting = self._places(Role.SYSTEMS, Role.BOTH)
        self._curve = self._places(Role.LEARNING, Role.BOTH)

    def as_both(self, knob: str) -> "Factors":
        """Return the same space with ``knob`` changing speed and learning."""
        return Factors(self.candidates, {**self.roles, knob: Role.BOTH}, self.halved)

    def setting_of(self, key: Key) -> Key:
        """Return the values that the time of a step depends on."""
        return _at(key, self._setting)

    def curve_of(self, key: Key) -> Key:
        """Return the values that learning depends on."""
        return _at(key, self._curve)

    def varied(self, role: Role) -> list[str]:
        """Return the knobs of a role that have more than one value among the candidates."""
        columns = zip(self.problem.base, zip(*self.candidates.keys, strict=True), strict=True)
        return [n for n, column in columns if self.roles[n] is role and len(set(column)) > 1]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups, the baseline's first."""
        learning, both = self._places(Role.LEARNING), self._places(Role.BOTH)
        baseline = self.candidates.keys[0]
        learned = _at(baseline, learning)
        # A stable sort: the curve that learns as the baseline does comes first in each group.
        keys = sorted(self.candidates.keys, key=lambda key: _at(key, learning) != learned)
        configs: dict[Key, dict[tuple[Key, Key], Key]] = {}
        for key in [baseline, *keys]:
            pair = self.setting_of(key), self.curve_of(key)
            configs.setdefault(_at(key, both), {})[pair] = key
        return tuple(map(self._group, configs.values()))

    @cached_property
    def group_of(self) -> Mapping[Key, Group]:
        """The group of each setting."""
        return {setting: group for group in self.groups for setting in group.settings}

    @property
    def num_settings(self) -> int:
        """Number of settings, summed over the groups."""
        return sum(len(group.settings) for group in self.groups)

    @property
    def has_choice(self) -> bool:
        """True where a group has more than one setting: otherwise there is nothing to probe."""
        return any(len(group.settings) > 1 for group in self.groups)

    def beside(self, key: Key) -> list[Key]:
        """Return the configs halfway between one at points of its knobs and those next to it."""
        setting, found = self.setting_of(key), list[Key]()
        group = self.group_of[setting]
        for place, name in enumerate(self.problem.base):
            if key[place] in (between := self.halved.get(name, ())):
                continue
            number = bisect(between, key[place])
            for value in between[max(number - 1, 0) : number + 1]:
                curve = self.curve_of((*key[:place], value, *key[place + 1 :]))
                if curve in group.halfway and (setting, curve) in group.configs:
                    found.append(group.configs[setting, curve])
        return found

    def _group(self, configs: Mapping[tuple[Key, Key], Key]) -> Group:
        settings, curves = (tuple(dict.fromkeys(column)) for column in zip(*configs, strict=True))
        halved = [self.halved.get([*self.problem.base][place], ()) for place in self._curve]
        own = self.curve_of(self.candidates.keys[0])
        halfway = {
            curve: None
            for curve in curves
            if curve != own and any(v in some for v, some in zip(curve, halved, strict=True))
        }
        return Group(
            settings=settings,
            curves=tuple(curve for curve in curves if curve not in halfway),
            halfway=tuple(halfway),
            configs=configs,
        )

    def _places(self, *roles: Role) -> list[int]:
        return [place for place, name in enumerate(self.problem.base) if self.roles[name] in roles]


def _at(key: Key, places: Sequence[int]) -> Key:
    return tuple([key[place] for place in places])


class Goals:
    """The objectives, by how a factored search serves them.

    Args:
        problem: The problem.

    Attributes:
        speed: The speed. Within a group it decides on the setting.
        learned: Objectives of what is learned, bounds among them. They decide on the curve.
        tolerances: For each of these the difference that counts as none, in its unit.
        others: Further objectives of a setting, such as memory: the fastest is not always the best.
        conditions: Bounds on other figures, such as memory. A setting that violates one is not
            picked if another one does not.
        tie_margin: Speeds that differ by less are equal, as a fraction of 1.
        target: The first learned objective where the time to a value of it counts: with a bound,
            or with a tolerance of the best. None: final figures count alone.
    """

    def __init__(self, problem: SearchProblem) -> None:
        learned = [each for each in problem.objectives if is_learned(each.metric)]
        others = [each for each in problem.objectives if not is_learned(each.metric)]
        self.target = target = problem.target
        if target is not None:
            learned = [target, *(each for each in learned if each.metric != target.metric)]
        speeds = [each for each in others if each.bound is None and each.metric not in _COMPOSED]
        self.speed = speeds[0] if speeds else Objective(RATE, Goal.MAXIMIZE)
        self.learned = tuple(learned)
        # A relative tolerance is taken of a figure of 1.
        self.tolerances = tuple(
            problem.accuracy_tolerance if each.tolerance is None else each.tolerance
            for each in learned
        )
        self.others = tuple(each for each in speeds if each != self.speed)
        self.conditions = tuple(each for each in others if each.bound is not None)
        self.tie_margin = problem.tie_margin

    @property
    def are_final(self) -> bool:
        """True where figures of whole trainings count, be it for a target relative to the best."""
        if self.target is None or self.target.bound is None:
            return True
        return any(each.bound is None for each in self.learned[1:])

    @property
    def is_best_all(self) -> bool:
        """True where the best final figure alone counts: a target is relative to it."""
        return self.target is not None and self.are_final and len(self.learned) == 1

    def log_speeds(self, result: TrialResult) -> tuple[float, float]:
        """Return the logarithms of a trial's speed and of its rate, the larger the faster.

        NaN for one that it has not: a probe that ended within an epoch has no time of an epoch.
        """

        def log(metric: str) -> float:
            figure = result.metrics.get(metric, math.nan)
            return math.log(figure) if 0 < figure < math.inf else math.nan

        return self.speed.sign * log(self.speed.metric), log(RATE)

    def figures(self, metrics: Mapping[str, float]) -> tuple[float, ...] | None:
        """Return the learned figures, the larger the better; None where one is missing."""
        values = [
            objective.sign * metrics.get(objective.metric, math.nan) for objective in self.learned
        ]
        return tuple(values) if all(map(math.isfinite, values)) else None

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Return True if no condition is known to be violated."""
        return all(condition.holds(metrics) for condition in self.conditions)

    def is_within(self, one: Sequence[float], other: Sequence[float], times: float = 1) -> bool:
        """Return True if ``one`` is nowhere worse than ``other`` by more than the tolerances."""
        return all(
            a >= b - times * tolerance
            for a, b, tolerance in zip(one, other, self.tolerances, strict=True)
        )

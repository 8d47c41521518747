"""A space taken apart by the roles of its knobs: groups, settings, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from orchestrator.kernel.problem import Candidates, Key
from orchestrator.space.knob import Role


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Configs that share the values of all knobs that are both systems and learning.

    Within it the speed depends on the setting alone, and what is learned on the curve alone.

    Attributes:
        name: Those values.
        settings: Values of the systems knobs, with those of the group: what speed depends on.
        curves: Values of the learning knobs, with those of the group: what learning depends on.
            The first is the baseline's where it has one with the same learning knobs.
        configs: The configs by setting and curve. Constraints may leave some out.
    """

    name: Key
    settings: tuple[Key, ...]
    curves: tuple[Key, ...]
    configs: Mapping[tuple[Key, Key], Key]

    def to_probe(self, setting: Key) -> tuple[Key, Key]:
        """Return the config that a setting is probed with, and its curve.

        The curve is the first that has the setting, so that nearly all settings have the same.
        """
        curve = next(curve for curve in self.curves if (setting, curve) in self.configs)
        return self.configs[setting, curve], curve


class Factors:
    """The groups of a space.

    Args:
        candidates: The configs.
        roles: Roles of the knobs. Default: as declared.
    """

    def __init__(self, candidates: Candidates, roles: Mapping[str, Role] | None = None) -> None:
        self.candidates = candidates
        self.problem = candidates.problem
        self.roles = dict(roles or self.problem.roles)
        self._setting = self._places(Role.SYSTEMS, Role.BOTH)
        self._curve = self._places(Role.LEARNING, Role.BOTH)

    def as_both(self, knob: str) -> Factors:
        """Return the same space with ``knob`` changing speed and learning."""
        return Factors(self.candidates, {**self.roles, knob: Role.BOTH})

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
        return tuple(_group(name, members) for name, members in configs.items())

    @property
    def num_settings(self) -> int:
        """Number of settings, summed over the groups."""
        return sum(len(group.settings) for group in self.groups)

    @property
    def has_choice(self) -> bool:
        """True where a group has more than one setting: otherwise there is nothing to probe."""
        return any(len(group.settings) > 1 for group in self.groups)

    def _places(self, *roles: Role) -> list[int]:
        return [place for place, name in enumerate(self.problem.base) if self.roles[name] in roles]


def _at(key: Key, places: Sequence[int]) -> Key:
    return tuple([key[place] for place in places])


def _group(name: Key, configs: Mapping[tuple[Key, Key], Key]) -> Group:
    settings, curves = (tuple(dict.fromkeys(column)) for column in zip(*configs, strict=True))
    return Group(name=name, settings=settings, curves=curves, configs=configs)

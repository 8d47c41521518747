"""The knobs in Ray Tune's ``config`` and ``param_space``, found by a walk through both."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from orchestrator.errors import KnobError, SweepError
from orchestrator.execution.ray.functions.labels import Labels
from orchestrator.locations import caller
from orchestrator.space.domains import Choice, Domain, Interval
from orchestrator.space.ray_tune import from_ray_tune, is_ray_domain

_ABSENT: Final = object()
"""Stands for a value that is not given: None may be one."""

_PLAIN: Final = frozenset({bool, int, float, str, bytes, type(None)})


@dataclass(frozen=True)
class Slot:
    """Place of a knob in a template.

    Attributes:
        name: The knob's name.
    """

    name: str


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One knob and its values.

    Attributes:
        labels: Its values, and the objects that they stand for.
        default: Its default.
        start: Its value in the baseline.
        given: Its value in the space, or a domain of them.
    """

    labels: Labels
    default: Any
    start: Any
    given: Any


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A place in the dictionaries.

    Attributes:
        path: Keys that lead there.
        default: Value there in the config.
        given: Value there in the space, if any.
        start: Value there in the baseline, if any.
    """

    path: tuple[Any, ...] = ()
    default: Any = _ABSENT
    given: Any = _ABSENT
    start: Any = _ABSENT

    @property
    def name(self) -> str:
        return "/".join(map(str, self.path))

    def below(
        self, key: object, default: object, given: object = _ABSENT, start: object = _ABSENT
    ) -> _Place:
        """Return the place one key further."""
        return _Place(path=(*self.path, key), default=default, given=given, start=start)


class Knobs:
    """Knobs of a config of defaults and a space over it.

    Attributes:
        template: The dictionary, with a slot in the place of each knob.
        leaves: The knobs by name.
        derived: Names of values that ``tune.sample_from`` computes.
        unknown: Names in the space and the baseline that are no knobs.
        problems: Faults, by their text without the place.
    """

    def __init__(
        self, defaults: Mapping[Any, Any], space: Mapping[Any, Any], baseline: Mapping[Any, Any]
    ) -> None:
        self.leaves: dict[str, Leaf] = {}
        self.derived: list[str] = []
        self.unknown: list[str] = []
        self.problems: dict[str, SweepError] = {}
        whole = _Place(default=dict(defaults), given=space, start=baseline)
        self.template = self._dictionary(whole)

    def _template(self, at: _Place) -> object:
        """Return the template of the value at a place, and add its knobs."""
        given = at.default if at.given is _ABSENT else at.given
        if is_derived(given):
            self.derived.append(at.name)
            if at.start is not _ABSENT:
                hint = "leave it out of the baseline: it is computed there as well"
                self._refuse(at, "tune.sample_from computes it", hint)
            return given
        try:
            domain = from_ray_tune(given)
        except ValueError as error:
            self._refuse(at, str(error))
            return None
        if isinstance(domain, (Choice, Interval)):
            return self._varied(at, domain)
        if isinstance(given, dict) and (given or at.default):
            is_alike = isinstance(at.default, dict) and not _is_domain(at.default)
            return self._dictionary(
                replace(at, given=given, default=at.default if is_alike else given)
            )
        if isinstance(given, (list, tuple)) and _varies(given):
            return self._sequence(at, given)
        return self._fixed(at, given)

    def _dictionary(self, at: _Place) -> dict[Any, Any]:
        given, start = (self._by_key(each, at) for each in (at.given, at.start))
        template: dict[Any, Any] = copy.copy(at.default)
        for key, default in at.default.items():
            below = at.below(key, default, given.get(key, _ABSENT), start.get(key, _ABSENT))
            template[key] = self._template(below)
        for key in {**given, **start}:
            if key not in at.default:
                self.unknown.append(at.below(key, None).name)
        return template

    def _by_key(self, given: object, at: _Place) -> dict[Any, Any]:
        """Return the given values by key; ``outer/inner`` stands for ``inner`` below ``outer``."""
        whole: dict[Any, Any] = {}
        split: dict[Any, dict[Any, Any]] = {}
        for key, value in given.items() if isinstance(given, Mapping) else ():
            outer, slash, inner = key.partition("/") if isinstance(key, str) else (key, "", "")
            if slash and key not in at.default and outer in at.default:
                split.setdefault(outer, {})[inner] = value
            else:
                whole[key] = value
        for outer in whole.keys() & split.keys():
            below = at.below(outer, None)
            text = f"both {below.name} and {below.name}/{next(iter(split[outer]))} are given"
            self._refuse(below, text, "give one dictionary, or each value by path")
        return whole | split

    def _sequence(self, at: _Place, given: Sequence[Any]) -> Sequence[Any]:
        """Return the template of a list in which some items vary; the others are as they are."""
        default, start = (
            each if isinstance(each, (list, tuple)) and len(each) == len(given) else None
            for each in (at.default, at.start)
        )
        items = list(given)
        for number, item in enumerate(given):
            if _varies(item):
                before = item if default is None else default[number]
                first = _ABSENT if start is None else start[number]
                items[number] = self._template(at.below(number, before, item, first))
        return tuple(items) if isinstance(given, tuple) else items

    def _fixed(self, at: _Place, given: object) -> object:
        """Return the slot of a knob that does not vary."""
        default = given if _varies(at.default) else at.default
        start = default if at.start is _ABSENT else at.start
        labels = Labels([given, default, start])
        return self._slot(at, labels, *map(labels.value_of, (default, given, start)))

    def _varied(self, at: _Place, domain: Domain) -> object:
        """Return the slot of a knob that varies."""
        default = _ABSENT if _varies(at.default) else at.default
        options = domain.values if isinstance(domain, Choice) else ()
        problem, hint = domain.problem(), ""
        if any(map(_varies, options)):
            problem = "an option of a choice has a domain within it"
            hint = "give what varies a separate key"
        others = [each for each in (default, at.start) if each is not _ABSENT]
        labels = Labels([*options, *others])
        if not problem and isinstance(domain, Interval):
            try:
                labels = Labels(others, domain)
            except ValueError as error:
                problem, hint = str(error), "give it another default in config"
        if problem:
            self._refuse(at, problem, hint)
            return self._fixed(at, at.default)
        values = tuple(dict.fromkeys(map(labels.value_of, options)))
        first = values[0] if values else domain.points(1)[0]
        default = first if default is _ABSENT else labels.value_of(default)
        start = default if at.start is _ABSENT else labels.value_of(at.start)
        return self._slot(at, labels, default, Choice(values) if values else domain, start)

    def _slot(
        self, at: _Place, labels: Labels, default: object, given: object, start: object
    ) -> Slot:
        if at.name in self.leaves:
            self._refuse(at, "two values of config have this name", "rename one of the keys")
        self.leaves[at.name] = Leaf(labels=labels, default=default, given=given, start=start)
        return Slot(at.name)

    def _refuse(self, at: _Place, text: str, hint: str = "") -> None:
        message = f"{at.name}: {text}"
        place = caller(str(at.path[-1]))
        self.problems.setdefault(message, KnobError(f"{place}{message}", hint))


def is_derived(value: object) -> bool:
    """Return True for a ``tune.sample_from``."""
    kind = type(value)
    return kind.__module__.startswith("ray.tune.search") and kind.__name__ == "Function"


def _is_domain(value: object) -> bool:
    """Return True for an object that stands for other values."""
    is_ours = isinstance(value, (Choice, Interval)) or is_ray_domain(value) or is_derived(value)
    return is_ours or (isinstance(value, dict) and set(value) == {"grid_search"})


def _varies(value: object) -> bool:
    """Return True for a domain, and for what has one at any depth."""
    if type(value) in _PLAIN:  # each trial's process asks this of all items of long lists
        return False
    if _is_domain(value):
        return True
    if isinstance(value, dict):
        return any(map(_varies, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_varies, value))

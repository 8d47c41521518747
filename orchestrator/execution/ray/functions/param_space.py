"""Ray Tune's ``config`` and ``param_space`` as a config class, and back to the dictionary.

Each value of the dictionary, at any depth, is a knob named ``outer/inner``. If the space has a
domain, the knob varies.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.errors import KnobError, SweepError, refuse
from orchestrator.execution.ray.functions.labels import Labels, label
from orchestrator.locations import caller
from orchestrator.space.configs import make_config_class, values_of
from orchestrator.space.domains import Choice, Interval, from_ray_tune, is_ray_domain
from orchestrator.space.knob import Knob, Role

_ABSENT: Final = object()
"""Stands for a value that is not given: None may be one."""

_PLAIN: Final = frozenset({bool, int, float, str, bytes, type(None)})


@dataclass(frozen=True, kw_only=True)
class _Leaf:
    """One knob: its default, its start in the baseline, and its value or domain in the space."""

    labels: Labels
    default: Any
    start: Any
    given: Any


@dataclass(frozen=True)
class _Slot:
    """Place of a knob in the template of the dictionary."""

    name: str


class ParamSpace:
    """A config of defaults and a space over it.

    Args:
        name: Name for the class of its configs.
        defaults: Ray Tune's ``config``; domains in it count as in ``space``.
        space: Domains and values in place of some of the defaults.
        baseline: Values of the baseline in place of some of the defaults.

    Attributes:
        config_class: Config class of the knobs.
        problems: Faults of the dictionaries, by their text without the place.
    """

    def __init__(
        self,
        name: str,
        defaults: Mapping[Any, Any],
        space: Mapping[Any, Any] | None = None,
        baseline: Mapping[Any, Any] | None = None,
    ) -> None:
        self.problems: dict[str, SweepError] = {}
        self._leaves: dict[str, _Leaf] = {}
        self._derived: list[str] = []
        self._unknown: list[str] = []
        self._template = self._dictionary((), defaults, space or {}, baseline or {})
        knobs = {
            name: Knob(type=leaf.labels.type, default=leaf.default, role=Role.BOTH, doc=name)
            for name, leaf in self._leaves.items()
        }
        self.config_class = make_config_class(f"{name}_config", knobs)
        setattr(self.config_class, "__param_space__", self)  # noqa: B010 - unknown to mypy
        setattr(self.config_class, "__getitem__", _item)  # noqa: B010

    def space(self) -> Any:  # noqa: ANN401 - of the class that is made here
        """Return the config in which the knobs that vary have domains.

        Raises:
            KnobError: A name is none of the knobs.
        """
        given: dict[str, Any] = {name: leaf.given for name, leaf in self._leaves.items()}
        return self.config_class(**given, **dict.fromkeys(self._unknown))

    def baseline(self) -> Any:  # noqa: ANN401 - as above
        """Return the config that speed-ups are counted from."""
        return self.config_class(**{name: leaf.start for name, leaf in self._leaves.items()})

    def dictionary(self, config: object) -> dict[Any, Any]:
        """Return the dictionary that a function of Ray Tune gets for a config, newly made.

        Raises:
            ValueError: A ``tune.sample_from`` raises.
        """
        filled: dict[Any, Any] = self._filled(self._template, values_of(config))
        return _resolved(filled) if self._derived else filled

    def _filled(self, template: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return a template with its slots filled; dictionaries and lists are new ones."""
        if isinstance(template, _Slot):
            template = self._leaves[template.name].labels.object_of(values[template.name])
        if isinstance(template, dict):
            return {key: self._filled(item, values) for key, item in template.items()}
        if isinstance(template, (list, tuple)):
            plain = list if isinstance(template, list) else tuple
            return plain(self._filled(item, values) for item in template)
        return template

    def problem_of_derived(self) -> SweepError | None:
        """Return why ``tune.sample_from`` cannot be used, or None."""
        names = self._derived
        if not names:
            return None
        place = f"{caller(names[0].rpartition('/')[2])}{', '.join(names)}: tune.sample_from"
        try:
            once, again = (self.dictionary(self.baseline()) for _ in range(2))
        except ValueError as error:
            return KnobError(f"{place}: {error}", "it is called with the config: config['lr'], say")
        if [*map(label, once.values())] == [*map(label, again.values())]:
            return None
        return KnobError(
            f"{place} draws at random: two trials of one config would not be the same",
            "draw with tune.uniform, tune.choice, ..., and compute the rest in tune.sample_from: "
            "{'u': tune.uniform(0, 1), 'x': tune.sample_from(lambda config: 2 * config['u'])}",
        )

    # -- the walk through the dictionaries

    def _dictionary(
        self, path: tuple[Any, ...], default: Mapping[Any, Any], given: object, start: object
    ) -> dict[Any, Any]:
        """Return the template of a dictionary, and add its knobs."""
        values, starts = (self._by_key(path, default, each) for each in (given, start))
        for key in {**values, **starts}:
            if key not in default:
                self._unknown.append(_name(*path, key))
        return {
            key: self._value((*path, key), value, values.get(key, value), starts.get(key, _ABSENT))
            for key, value in default.items()
        }

    def _by_key(
        self, path: tuple[Any, ...], default: Mapping[Any, Any], given: object
    ) -> dict[Any, Any]:
        """Return the given values by key; ``outer/inner`` stands for ``inner`` below ``outer``."""
        found: dict[Any, Any] = {}
        if not isinstance(given, Mapping):
            return found
        for key, value in given.items():
            outer, slash, inner = key.partition("/") if isinstance(key, str) else (key, "", "")
            if not slash or key in default or outer not in default:
                found[key] = value
            elif outer in given:
                text = f"both {_name(*path, outer)} and {_name(*path, key)} are given"
                self._refuse((*path, outer), text, "give one dictionary, or each value by path")
            else:
                found.setdefault(outer, {})[inner] = value
        return found

    def _value(self, path: tuple[Any, ...], default: Any, given: Any, start: Any) -> Any:  # noqa: ANN401
        """Return the template of a value that is no dictionary of knobs: its slot."""
        name = _name(*path)
        if _is_derived(given):
            self._derived.append(name)
            if start is not _ABSENT:
                hint = "leave it out of the baseline: it is computed there as well"
                self._refuse(path, "tune.sample_from computes it", hint)
            return given
        try:
            given = from_ray_tune(given)
        except ValueError as error:
            return self._refuse(path, str(error))
        if isinstance(given, dict) and (given or default):
            is_alike = isinstance(default, dict) and not _is_domain(default)
            return self._dictionary(path, default if is_alike else given, given, start)
        interval = given if isinstance(given, Interval) else None
        options = given.values if isinstance(given, Choice) else () if interval else (given,)
        if any(map(_varies, options)):
            hint = "give what varies a separate key"
            return self._refuse(path, "an option or a list has a domain within it", hint)
        if isinstance(given, (Choice, Interval)) and (problem := given.problem()):
            return self._refuse(path, problem)
        others = [each for each in (default, start) if each is not _ABSENT and not _varies(each)]
        try:
            labels = Labels([*options, *others], interval)
        except ValueError as error:
            return self._refuse(path, str(error), "give it another default in config")
        if name in self._leaves:
            self._refuse(path, "two values of config have this name", "rename one of the keys")
        values = tuple(dict.fromkeys(map(labels.value_of, options)))
        first = interval.points(1)[0] if interval else values[0]
        default = first if _varies(default) else labels.value_of(default)
        self._leaves[name] = _Leaf(
            labels=labels,
            default=default,
            given=interval or (Choice(values) if isinstance(given, Choice) else first),
            start=default if start is _ABSENT else labels.value_of(start),
        )
        return _Slot(name)

    def _refuse(self, path: tuple[Any, ...], text: str, hint: str = "") -> None:
        message = f"{_name(*path)}: {text}"
        place = caller(str(path[-1]))
        self.problems.setdefault(message, KnobError(f"{place}{message}", hint))


def _name(*path: object) -> str:
    return "/".join(map(str, path))


def _item(self: Any, key: Any) -> Any:  # noqa: ANN401 - any config and value
    """Return a value of a config as the function gets it: ``config["model"]["lr"]``."""
    return self.__param_space__.dictionary(self)[key]


def _is_derived(value: object) -> bool:
    """Return True for a ``tune.sample_from``."""
    kind = type(value)
    return kind.__module__.startswith("ray.tune.search") and kind.__name__ == "Function"


def _is_domain(value: object) -> bool:
    """Return True for an object that stands for other values."""
    is_ours = isinstance(value, (Choice, Interval)) or is_ray_domain(value) or _is_derived(value)
    return is_ours or (isinstance(value, dict) and set(value) == {"grid_search"})


def _varies(value: object) -> bool:
    """Return True for a domain, and for a value that contains one at any depth."""
    if type(value) in _PLAIN:  # each trial's process checks all items of long lists
        return False
    if _is_domain(value):
        return True
    if isinstance(value, dict):
        return any(map(_varies, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_varies, value))


def _resolved(config: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a config with the values of ``tune.sample_from`` computed by Ray Tune's own rules.

    Functions are called in the order of the config, each with all of it: with the dictionary or,
    if that raises, with ``spec``, as in ``spec.config.lr``.

    Raises:
        ValueError: A function raises, or needs a value that a later one computes.
    """
    placeholders: Any = importlib.import_module("ray.tune.impl.placeholder")
    variants: Any = importlib.import_module("ray.tune.search.variant_generator")
    resolvers = placeholders.create_resolvers_map()
    injected = placeholders.inject_placeholders(dict(config), resolvers)
    logging.getLogger("ray.tune.search.sample").disabled = True  # it warns of each call with spec
    try:
        _, spec = next(variants.generate_variants({"config": injected}))
        placeholders.resolve_placeholders(spec["config"], resolvers)
    except Exception as error:
        cause = error.__cause__ or error.__context__ or error
        raise ValueError(f"it raised {type(cause).__name__}: {cause}") from error
    made: dict[Any, Any] = spec["config"]
    if placeholders._FunctionResolver.TOKEN in repr(made):
        raise ValueError("it needs a value of a later tune.sample_from: put that one first")
    return made


class TrainingOnSpace:
    """A training function of a dictionary: its config class is made for each sweep.

    Args:
        name: Name for the class of its configs.
        defaults: A value for every key.

    Attributes:
        param_space: The defaults alone.
    """

    def __init__(self, name: str, defaults: Mapping[str, Any]) -> None:
        self.name, self.defaults = name, defaults
        self.param_space = ParamSpace(name, defaults)

    def fitted(
        self, space: Mapping[str, Any], baseline: Mapping[str, Any] | None
    ) -> tuple[type, Any, Any]:
        """Return a config class that has all values of a sweep, its space and its baseline."""
        if baseline is not None and not isinstance(baseline, Mapping):
            baseline = values_of(baseline)
        fitted = ParamSpace(self.name, self.defaults, space, baseline)
        known = self.param_space.problems  # refused already
        problems: list[SweepError] = [p for text, p in fitted.problems.items() if text not in known]
        if not fitted.problems and (problem := fitted.problem_of_derived()):
            problems.append(problem)
        refuse(problems)
        return fitted.config_class, fitted.space(), fitted.baseline()

    @staticmethod
    def dictionary(config: Any) -> dict[str, Any]:  # noqa: ANN401 - of a class made here
        """Return the dictionary that a config stands for."""
        made: dict[str, Any] = type(config).__param_space__.dictionary(config)
        return made

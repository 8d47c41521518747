"""Ray Tune's ``config`` and ``param_space`` as a config class, and back to the dictionary.

Each value of the dictionary, at any depth, is a knob named ``outer/inner``. If the space has a
domain, the knob varies.
"""

from collections.abc import Mapping
from typing import Any, Final

from orchestrator.errors import KnobError, SweepError, refuse
from orchestrator.execution.ray.functions.labels import as_values
from orchestrator.locations import caller
from orchestrator.space.configs import make_config_class, values_of
from orchestrator.space.domains import Choice, Interval, from_ray_tune, is_ray_domain
from orchestrator.space.knob import Knob, Role

_ABSENT: Final = object()
"""Stands for a value that is not given: None may be one."""


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
        self._knobs: dict[str, Knob] = {}
        self._space: dict[str, Any] = {}  # a value or a domain of each
        self._baseline: dict[str, Any] = {}
        self._objects: dict[str, Mapping[Any, Any]] = {}  # those that its values stand for
        self._unknown: list[str] = []
        self._template = self._dictionary((), defaults, space or {}, baseline or {})
        self.config_class = make_config_class(f"{name}_config", self._knobs)
        setattr(self.config_class, "__param_space__", self)  # noqa: B010 - unknown to mypy
        setattr(self.config_class, "__getitem__", _item)  # noqa: B010

    def space(self) -> Any:  # noqa: ANN401 - of the class that is made here
        """Return the config in which the knobs that vary have domains.

        Raises:
            KnobError: A name is none of the knobs.
        """
        return self.config_class(**self._space, **dict.fromkeys(self._unknown))

    def baseline(self) -> Any:  # noqa: ANN401 - as above
        """Return the config that speed-ups are counted from."""
        return self.config_class(**self._baseline)

    def dictionary(self, config: object) -> dict[Any, Any]:
        """Return the dictionary that a function of Ray Tune gets for a config, newly made."""
        return self._filled(self._template, values_of(config))

    def _filled(self, template: Mapping[Any, Any], values: Mapping[str, Any]) -> dict[Any, Any]:
        """Return a template with the objects of its knobs in place of their names."""
        return {
            key: self._objects[each].get(values[each], values[each])
            if isinstance(each, str)
            else self._filled(each, values)
            for key, each in template.items()
        }

    # -- the walk through the dictionaries

    def _dictionary(
        self, path: tuple[Any, ...], default: Mapping[Any, Any], given: object, start: object
    ) -> dict[Any, Any]:
        """Return the names of a dictionary's knobs by key, at any depth, and add the knobs."""
        values, starts = (self._by_key(path, default, each) for each in (given, start))
        self._unknown += [_name(*path, key) for key in {**values, **starts} if key not in default]
        return {
            key: self._value((*path, key), value, values.get(key, value), starts.get(key, _ABSENT))
            for key, value in default.items()
        }

    def _by_key(
        self, path: tuple[Any, ...], default: Mapping[Any, Any], given: object
    ) -> dict[Any, Any]:
        """Return the given values by key; ``outer/inner`` stands for ``inner`` below ``outer``."""
        found: dict[Any, Any] = {}
        given = given if isinstance(given, Mapping) else {}
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
        """Return the name of a value's knob; of a dictionary of knobs their names by key."""
        name = _name(*path)
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
        has_default, has_start = not _varies(default), start is not _ABSENT
        objects = [*options, *([default] * has_default), *([start] * has_start)]
        try:
            kind, values = as_values(objects, interval)
        except ValueError as error:
            return self._refuse(path, str(error), "give it another default in config")
        if name in self._knobs:
            self._refuse(path, "two values of config have this name", "rename one of the keys")
        tried = tuple(dict.fromkeys(values[: len(options)]))
        first = interval.points(1)[0] if interval else tried[0]
        own = values[len(options)] if has_default else first
        self._knobs[name] = Knob(type=kind, default=own, role=Role.BOTH, doc=name)
        self._space[name] = interval or (Choice(tried) if isinstance(given, Choice) else first)
        self._baseline[name] = values[-1] if has_start else own
        # The first of equal ones stands for all of them.
        self._objects[name] = dict(zip(reversed(values), reversed(objects), strict=True))
        return name

    def _refuse(self, path: tuple[Any, ...], text: str, hint: str = "") -> dict[Any, Any]:
        """Add a problem; return the template of no knob."""
        message = f"{_name(*path)}: {text}"
        place = caller(str(path[-1]))
        self.problems.setdefault(message, KnobError(f"{place}{message}", hint))
        return {}


def _name(*path: object) -> str:
    return "/".join(map(str, path))


def _item(self: Any, key: Any) -> Any:  # noqa: ANN401 - any config and value
    """Return a value of a config as the function gets it: ``config["model"]["lr"]``."""
    return self.__param_space__.dictionary(self)[key]


def _is_domain(value: object) -> bool:
    """Return True for an object that stands for other values."""
    is_grid = isinstance(value, dict) and set(value) == {"grid_search"}
    return isinstance(value, (Choice, Interval)) or is_ray_domain(value) or is_grid


def _varies(value: object) -> bool:
    """Return True for a domain, and for a value that contains one at any depth."""
    if _is_domain(value):
        return True
    if isinstance(value, dict):
        return any(map(_varies, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_varies, value))


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
        refuse([problem for text, problem in fitted.problems.items() if text not in known])
        return fitted.config_class, fitted.space(), fitted.baseline()

    @staticmethod
    def dictionary(config: Any) -> dict[str, Any]:  # noqa: ANN401 - of a class made here
        """Return the dictionary that a config stands for."""
        made: dict[str, Any] = type(config).__param_space__.dictionary(config)
        return made

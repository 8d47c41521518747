"""Knobs: what a trainable can be told, typed, with a role, a range and a reason.

    @knobs
    class SageConfig:
        lr: float = learning(default=3e-3, gt=0, doc="Adam step size")
        num_workers: int = systems(default=0, ge=0, doc="DataLoader processes")

A config class is frozen and keyword-only. An instance holds one value for every
knob; where a sweep states its space, some of the values are domains.
"""

from __future__ import annotations

import math
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast, dataclass_transform, get_args, get_origin

from orchestrator.domains import (
    Choice,
    Domain,
    Interval,
    choice,
    from_ray_tune,
    integers,
    loguniform,
    uniform,
)
from orchestrator.errors import KnobError, nearest, raise_all

__all__ = [
    "Knob",
    "Role",
    "both",
    "canonical",
    "choice",
    "collecting_problems",
    "domains_of",
    "integers",
    "knobs",
    "knobs_of",
    "learning",
    "loguniform",
    "make_config_class",
    "parse_setting",
    "replaced",
    "systems",
    "uniform",
    "values_of",
]

V = TypeVar("V")
C = TypeVar("C")


class Role(StrEnum):
    """What a knob changes.

    ``systems``: speed only, never what is learned. ``learning``: what is learned, not
    the time of a step. ``both``: the two.
    """

    SYSTEMS = "systems"
    LEARNING = "learning"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One setting of a trainable.

    Attributes:
        name: The field's name.
        type: ``int``, ``float``, ``bool``, ``str``, a ``Literal`` or ``tuple[int, ...]``.
        default: Value where nothing else is said.
        role: What it changes.
        ge: Smallest value allowed.
        gt: Value it must exceed.
        le: Largest value allowed.
        lt: Value it must stay below.
        unit: Unit, empty for counts and switches.
        doc: Meaning and consequence, one line.
        applies: Whether the knob can have any effect in a config; where it cannot, the
            canonical config has ``default``.
    """

    name: str = ""
    type: Any = None
    default: Any
    role: Role
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    unit: str = ""
    doc: str
    applies: Callable[[Any], bool] | None = None

    @property
    def allowed(self) -> str:
        """The values allowed, in words."""
        if get_origin(self.type) is Literal:
            return "one of " + ", ".join(repr(value) for value in get_args(self.type))
        kind = "a tuple of int" if self._is_tuple else f"{_article(self.type)} {self.type.__name__}"
        ends = {">=": self.ge, ">": self.gt, "<=": self.le, "<": self.lt}
        limits = [f"{sign} {end:g}" for sign, end in ends.items() if end is not None]
        return " ".join([kind, " and ".join(limits)]).strip()

    @property
    def _is_tuple(self) -> bool:
        return get_origin(self.type) is tuple

    def checked(self, value: object) -> Any:  # noqa: ANN401 - the knob's own type
        """``value`` as the knob's own type.

        Raises:
            ValueError: It is not of the type, or not in the range.
        """
        if get_origin(self.type) is Literal:
            if any(value == option and type(value) is type(option) for option in get_args(self.type)):
                return value
            raise ValueError
        if self._is_tuple:
            if not isinstance(value, (tuple, list)) or not value:
                raise ValueError
            return tuple(self._number(item, int) for item in value)
        if self.type is int or self.type is float:
            return self._number(value, self.type)
        if not isinstance(value, self.type):
            raise ValueError  # noqa: TRY004 - all of these are one kind of problem to the caller
        return value

    def _number(self, value: object, kind: type) -> float:
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole and not (kind is float and isinstance(value, float)):
            raise ValueError
        number = cast("float", value)
        if not math.isfinite(number):
            raise ValueError
        if (
            (self.ge is not None and number < self.ge)
            or (self.gt is not None and number <= self.gt)
            or (self.le is not None and number > self.le)
            or (self.lt is not None and number >= self.lt)
        ):
            raise ValueError
        return kind(number)  # type: ignore[no-any-return]

    def parsed(self, text: str) -> Any:  # noqa: ANN401 - the knob's own type
        """The value that ``text`` stands for on a command line.

        Raises:
            ValueError: It stands for none.
        """
        if get_origin(self.type) is Literal:
            for option in get_args(self.type):
                if str(option) == text:
                    return option
            raise ValueError
        if self._is_tuple:
            return self.checked(tuple(int(part) for part in text.split(",")))
        if self.type is bool:
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
        return self.checked(self.type(text))


def _field(role: Role, default: V, **spec: Any) -> V:  # noqa: ANN401 - passed on to Knob
    return cast("V", Knob(role=role, default=default, **spec))


def learning(
    *,
    default: V,
    doc: str,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    unit: str = "",
    applies: Callable[[Any], bool] | None = None,
) -> V:
    """A knob that changes what is learned, not the time of a step. See :class:`Knob`."""
    return _field(
        Role.LEARNING, default, doc=doc, ge=ge, gt=gt, le=le, lt=lt, unit=unit, applies=applies
    )


def systems(
    *,
    default: V,
    doc: str,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    unit: str = "",
    applies: Callable[[Any], bool] | None = None,
) -> V:
    """A knob that changes speed only, never what is learned. See :class:`Knob`."""
    return _field(
        Role.SYSTEMS, default, doc=doc, ge=ge, gt=gt, le=le, lt=lt, unit=unit, applies=applies
    )


def both(
    *,
    default: V,
    doc: str,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    unit: str = "",
    applies: Callable[[Any], bool] | None = None,
) -> V:
    """A knob that changes both speed and what is learned. See :class:`Knob`."""
    return _field(
        Role.BOTH, default, doc=doc, ge=ge, gt=gt, le=le, lt=lt, unit=unit, applies=applies
    )


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(learning, systems, both)
)
def knobs(cls: type[C]) -> type[C]:
    """Makes a class of annotated knob fields into a frozen, keyword-only config class.

    Knobs of a base class come first; a field declared again replaces the base's.

    Raises:
        TypeError: A field is not declared with ``learning``, ``systems`` or ``both``.
        KnobError: A default lies outside the knob's own range.
    """
    declared: dict[str, Knob] = {}
    for base in reversed(cls.__mro__[1:]):
        declared.update(getattr(base, "__knobs__", {}))
    hints = typing.get_type_hints(cls)
    for name in cls.__dict__.get("__annotations__", {}):
        spec = cls.__dict__.get(name)
        if not isinstance(spec, Knob):
            raise TypeError(
                f"{cls.__name__}.{name} must be declared with learning(), systems() or both()"
            )
        knob = replace(spec, name=name, type=hints[name])
        try:
            knob = replace(knob, default=knob.checked(spec.default))
        except ValueError:
            raise KnobError(
                f"{cls.__name__}.{name}: default {spec.default!r} is not allowed", knob.allowed
            ) from None
        declared[name] = knob
        delattr(cls, name)
    methods: dict[str, Any] = {
        "__knobs__": MappingProxyType(declared),
        "__init__": _init,
        "__setattr__": _frozen,
        "__delattr__": _frozen,
        "__repr__": _repr,
        "__eq__": _eq,
        "__hash__": _hash,
    }
    for name, member in methods.items():
        setattr(cls, name, member)
    return cls


def _init(self: object, **given: object) -> None:
    problems: list[KnobError] = []
    values = {name: knob.default for name, knob in knobs_of(self).items()}
    for name, value in given.items():
        try:
            values[name] = _accepted(self, name, value)
        except KnobError as problem:
            problems.append(problem)
    self.__dict__.update(values)
    if not problems:
        return
    collector = _collector.get()
    if collector is None:
        raise_all(problems)
    else:
        collector.extend(problems)


def _accepted(config: object, name: str, value: object) -> object:
    known = knobs_of(config)
    owner = type(config).__name__
    if name not in known:
        raise KnobError(
            f"{_caller()}{name!r} is not a knob of {owner}{nearest(name, known)}",
            f"knobs: {', '.join(known)}",
        )
    knob = known[name]
    try:
        value = from_ray_tune(value)
    except ValueError as error:
        raise KnobError(f"{_caller()}{owner}.{name}: {error}", knob.allowed) from None
    if not isinstance(value, (Choice, Interval)):
        return _checked(owner, knob, value)
    if problem := value.problem():
        raise KnobError(f"{_caller()}{owner}.{name}: {problem}", f"allowed: {knob.allowed}")
    ends = tuple(_checked(owner, knob, end) for end in value.bounds())
    return Choice(ends) if isinstance(value, Choice) else value


def _checked(owner: str, knob: Knob, value: object) -> Any:  # noqa: ANN401 - the knob's own type
    try:
        return knob.checked(value)
    except ValueError:
        options = [str(option) for option in get_args(knob.type)] if isinstance(value, str) else []
        raise KnobError(
            f"{_caller()}{owner}.{knob.name} = {value!r} is not allowed"
            f"{nearest(str(value), options)}",
            f"allowed: {knob.allowed}",
        ) from None


def _caller() -> str:
    """``file:line: `` of the code that built the config."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}: "


def _frozen(self: object, name: str, *_value: object) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}")


def _repr(self: object) -> str:
    values = values_of(self)
    shown = (f"{name}={values[name]!r}" for name, knob in knobs_of(self).items()
             if values[name] != knob.default)
    return f"{type(self).__name__}({', '.join(shown)})"


def _eq(self: object, other: object) -> bool:
    return type(self) is type(other) and self.__dict__ == other.__dict__


def _hash(self: object) -> int:
    return hash((type(self), tuple(self.__dict__.items())))


_collector: ContextVar[list[KnobError] | None] = ContextVar("_collector", default=None)


@contextmanager
def collecting_problems() -> Iterator[list[KnobError]]:
    """Within it a config with bad knobs is built with their defaults and the problems kept.

    So that a sweep file's problems can all be reported at once.
    """
    problems: list[KnobError] = []
    token = _collector.set(problems)
    try:
        yield problems
    finally:
        _collector.reset(token)


def knobs_of(config: object) -> Mapping[str, Knob]:
    """The knobs of a config or of a config class, in order of declaration."""
    return cast("Mapping[str, Knob]", config.__knobs__)  # type: ignore[attr-defined]


def values_of(config: object) -> dict[str, Any]:
    """The values of a config by knob name, in order of declaration."""
    return dict(config.__dict__)


def domains_of(config: object) -> dict[str, Domain]:
    """The knobs of a space that are varied, with their domains."""
    return {k: v for k, v in config.__dict__.items() if isinstance(v, (Choice, Interval))}


def replaced(config: C, values: Mapping[str, Any]) -> C:
    """``config`` with some values replaced, unchecked: they come from checked domains."""
    other = object.__new__(type(config))
    other.__dict__.update(config.__dict__)
    other.__dict__.update(values)
    return other


def canonical(config: C) -> C:
    """``config`` with the knobs that can have no effect in it set to their defaults.

    Two configs that say the same thing in two ways have one canonical config.
    """
    while True:
        idle = {
            name: knob.default
            for name, knob in knobs_of(config).items()
            if knob.applies is not None
            and config.__dict__[name] != knob.default
            and not knob.applies(config)
        }
        if not idle:
            return config
        config = replaced(config, idle)


def parse_setting(config_class: type, setting: str) -> tuple[str, Any]:
    """Parses ``KNOB=VALUE`` of a command line.

    Raises:
        KnobError: No such knob, or no such value of it.
    """
    name, equals, text = setting.partition("=")
    known = knobs_of(config_class)
    if not equals:
        raise KnobError(f"--set {setting}: expected KNOB=VALUE", f"knobs: {', '.join(known)}")
    if name not in known:
        raise KnobError(
            f"--set {setting}: {name!r} is not a knob of {config_class.__name__}"
            f"{nearest(name, known)}",
            f"knobs: {', '.join(known)}",
        )
    knob = known[name]
    try:
        return name, knob.checked(knob.parsed(text))
    except ValueError:
        raise KnobError(
            f"--set {setting}: {text!r} is not allowed for {name}", f"allowed: {knob.allowed}"
        ) from None


def make_config_class(name: str, defaults: Mapping[str, Any]) -> type:
    """A config class from plain defaults, every knob with role ``both``.

    Raises:
        TypeError: A default is of a type that no knob can have.
    """
    allowed = (bool, int, float, str)
    for key, value in defaults.items():
        if not isinstance(value, allowed):
            raise TypeError(f"{name}: {key} = {value!r} must be a bool, int, float or str")
    body: dict[str, Any] = {key: both(default=v, doc=key) for key, v in defaults.items()}
    body["__annotations__"] = {key: type(value) for key, value in defaults.items()}
    return knobs(type(name, (), body))


def _article(kind: type) -> str:
    return "an" if kind.__name__[0] in "aeiou" else "a"

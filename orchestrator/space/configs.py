"""Config classes, declared as typed knobs, and configs: a value for every knob.

::

    @knobs
    class SageConfig:
        lr: float = learning(default=3e-3, gt=0, doc="Adam step size")
        num_workers: int = systems(default=0, ge=0, doc="DataLoader processes")

A config class is frozen and keyword-only. In a sweep's space some of the values are domains.
"""

import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import get_annotations, isfunction
from types import MappingProxyType
from typing import (
    Any,
    ClassVar,
    Required,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    dataclass_transform,
    get_origin,
)

from orchestrator.errors import KnobError, SweepError, nearest, refuse
from orchestrator.field_types import shown, wrong_fields
from orchestrator.locations import caller, place_of
from orchestrator.space.domains import Choice, Domain, Interval
from orchestrator.space.knob import TYPES, Knob, Role
from orchestrator.texts import described

V = TypeVar("V")
C = TypeVar("C")


def knobs_of(config: object) -> Mapping[str, Knob]:
    """Return the knobs of a config or of a config class, in order of declaration."""
    return cast("Mapping[str, Knob]", config.__knobs__)  # type: ignore[attr-defined]


def values_of(config: object) -> dict[str, Any]:
    """Return the values of a config by knob name, in order of declaration."""
    return dict(config.__dict__)


def domains_of(config: object) -> dict[str, Domain]:
    """Return the domains of the knobs of a space that are varied."""
    return {k: v for k, v in config.__dict__.items() if isinstance(v, (Choice, Interval))}


def replaced(config: C, values: Mapping[str, Any]) -> C:
    """Return ``config`` with some values replaced, unchecked: they come from checked domains."""
    return built(type(config), {**config.__dict__, **values})


def built(config_class: type[C], values: Mapping[str, Any]) -> C:
    """Return a config of a value for every knob, unchecked: they come from checked domains."""
    config = object.__new__(config_class)
    config.__dict__.update(values)
    return config


def changed_knobs(config: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[str]:
    """Return the knobs of a config that differ from the baseline's, as ``--set`` takes them."""
    both = (name for name in config if name in baseline)
    return [name for name in both if format_value(config[name]) != format_value(baseline[name])]


def same_config(config: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if a config has every knob of another, at its value; JSON makes tuples lists."""
    return other.keys() <= config.keys() and not changed_knobs(other, config)


def canonical(config: C) -> C:
    """Return ``config`` with the knobs that can have no effect in it set to their defaults.

    Two configs of the same meaning have one canonical config. The condition of a knob is
    evaluated on the canonical values of the others, whatever the order of declaration: where A
    applies only with B and B only with C, no C means default B and A.
    """
    given = config.__dict__
    conditional: tuple[Knob, ...] = type(config).__conditional__  # type: ignore[attr-defined]
    open_knobs = [knob for knob in conditional if given[knob.name] != knob.default]
    settled = config
    for _ in range(len(open_knobs) + 1):  # of a chain of conditions each pass settles one more
        before = settled
        idle = {knob.name: knob.default for knob in open_knobs if not _applies(knob, before)}
        settled = replaced(config, idle) if idle else config
        if settled == before:
            break
    return settled


def idle_knobs(config: object) -> tuple[str, ...]:
    """Return the names of the knobs that can have no effect in a canonical config."""
    conditional: tuple[Knob, ...] = type(config).__conditional__  # type: ignore[attr-defined]
    return tuple(knob.name for knob in conditional if not _applies(knob, config))


def _applies(knob: Knob, config: object) -> bool:
    """Return the condition of a conditional knob.

    Raises:
        KnobError: The user's function raises.
    """
    assert knob.applies is not None
    try:
        return bool(knob.applies(config))
    except Exception as error:
        raise KnobError(
            f"{place_of(knob.applies)}: the condition of {knob.name} raised {described(error)}",
            "allowed: a function of the config that is true where the knob has an effect",
        ) from error


def parse_setting(config_class: type, setting: str) -> tuple[str, Any]:
    """Parse ``KNOB=VALUE`` of a command line.

    Raises:
        KnobError: No such knob, or no such value of it.
    """
    name, equals, text = setting.partition("=")
    known = knobs_of(config_class)
    if not equals:
        raise KnobError(f"--set {setting}: expected KNOB=VALUE", f"knobs: {', '.join(known)}")
    if name not in known:
        raise _unknown(f"--set {setting}: ", name, config_class)
    knob = known[name]
    try:
        return name, knob.parsed(text)
    except ValueError:
        close = nearest(text, map(str, knob.options))
        raise KnobError(
            f"--set {setting}: {text!r} is not allowed for {name}{close}",
            f"allowed: {knob.allowed}",
        ) from None


def _unknown(place: str, name: str, config_class: type) -> KnobError:
    known = knobs_of(config_class)
    text = f"{place}{name!r} is not a knob of {config_class.__name__}{nearest(name, known)}"
    return KnobError(text, f"knobs: {', '.join(known)}")


def format_setting(name: str, value: object) -> str:
    """Return ``KNOB=VALUE`` as :func:`parse_setting` reads it."""
    return f"{name}={format_value(value)}"


def format_value(value: object) -> str:
    """Return a knob's value as ``--set KNOB=VALUE`` takes it, exactly."""
    if isinstance(value, (tuple, list)):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- methods of a config class


class _Config:
    """The methods that ``@knobs`` gives a class."""

    def __init__(self, /, **given: object) -> None:
        if "__knobs__" not in type(self).__dict__:
            raise TypeError(f"{type(self).__name__} must be decorated with @knobs, as its base is")
        known, values = knobs_of(self), {k: knob.default for k, knob in knobs_of(self).items()}
        problems: list[SweepError] = []
        for name, value in given.items():
            if name not in known:
                problems.append(_unknown(caller(name), name, type(self)))
                continue
            try:
                values[name] = known[name].accepted(value)
            except ValueError as wrong:
                place = f"{caller(name)}{type(self).__name__}.{name}"
                problems.append(KnobError(f"{place}{wrong}", f"allowed: {known[name].allowed}"))
        self.__dict__.update(values)
        refuse(problems)

    def __setattr__(self, name: str, *_value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name!r}")

    __delattr__ = __setattr__

    def __repr__(self) -> str:
        given = self.__dict__
        changed = [k for k, knob in knobs_of(self).items() if given[k] != knob.default]
        return f"{type(self).__name__}({', '.join(f'{name}={given[name]!r}' for name in changed)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.__dict__.items())))


# -- declaration


class KnobSpec(TypedDict, total=False):
    """Arguments of a knob besides its default; :class:`Knob` has their meanings."""

    doc: Required[str]
    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None
    unit: str
    applies: Callable[[Any], bool] | None


# To a type checker a knob is a field with a value of the default's type. It takes only functions
# for field specifiers, hence no partial().


def learning(*, default: V, **spec: Unpack[KnobSpec]) -> V:
    """Declare a knob that changes what is learned, not the time of a step."""
    return cast("V", Knob(role=Role.LEARNING, default=default, **spec))


def systems(*, default: V, **spec: Unpack[KnobSpec]) -> V:
    """Declare a knob that changes speed only, never what is learned."""
    return cast("V", Knob(role=Role.SYSTEMS, default=default, **spec))


def both(*, default: V, **spec: Unpack[KnobSpec]) -> V:
    """Declare a knob that changes both speed and what is learned."""
    return cast("V", Knob(role=Role.BOTH, default=default, **spec))


@dataclass_transform(
    kw_only_default=True, frozen_default=True, field_specifiers=(learning, systems, both)
)
def knobs(cls: type[C]) -> type[C]:
    """Make a class of annotated knob fields a frozen, keyword-only config class.

    Knobs of a base class come first; a field declared again replaces the base's, in its place.

    Raises:
        TypeError: A field is not declared with ``learning``, ``systems`` or ``both``, or has
            a type that no knob can have.
        KnobError: A default lies outside the knob's own range.
    """
    declared: dict[str, Knob] = {}
    for base in reversed(cls.__mro__[1:]):
        known = base.__dict__.get("__knobs__", {})
        declared.update({name: known[name] for name in get_annotations(base) if name in known})
    hints = typing.get_type_hints(cls)
    for name, value in vars(cls).items():
        if isinstance(value, Knob) and name not in hints:  # Python keeps it out of the fields
            kind = type(value.default).__name__
            raise KnobError(f"{cls.__name__}.{name}: has no type", f"write {name}: {kind} = ...")
    for name in get_annotations(cls):
        if get_origin(hints[name]) is not ClassVar and hints[name] is not ClassVar:
            declared[name] = _declared(cls, name, hints[name])
            delattr(cls, name)
    setattr(cls, "__knobs__", MappingProxyType(declared))  # noqa: B010 - mypy knows no such attribute
    conditional = tuple(spec for spec in declared.values() if spec.applies is not None)
    setattr(cls, "__conditional__", conditional)  # noqa: B010
    for name, method in vars(_Config).items():
        if isfunction(method):
            setattr(cls, name, method)
    return cls


def _declared(cls: type, name: str, hint: object) -> Knob:
    spec, place = cls.__dict__.get(name), f"{cls.__name__}.{name}"
    if not isinstance(spec, Knob):
        raise TypeError(f"{place} must be declared with learning(), systems() or both()")
    knob = replace(spec, name=name, type=hint)
    for wrong in wrong_fields(knob):
        raise KnobError(f"{place}: {wrong} is not allowed", f"allowed: {wrong.allowed}")
    if not knob.supported:
        raise TypeError(f"{place}: the type of a knob must be one of {TYPES}")
    if knob.refuses(spec.default):
        raise KnobError(
            f"{place}: default {shown(spec.default)} is not allowed", f"allowed: {knob.allowed}"
        )
    return replace(knob, default=knob.checked(spec.default))


def make_config_class(name: str, declared: Mapping[str, Knob]) -> type:
    """Return a config class of these knobs by name, each with its type."""
    types = {key: value.type for key, value in declared.items()}
    return knobs(type(name, (), {**declared, "__annotations__": types}))

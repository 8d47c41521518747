"""Declaration of a config class: typed knobs, each with a role, a range and a reason.

::

    @knobs
    class SageConfig:
        lr: float = learning(default=3e-3, gt=0, doc="Adam step size")
        num_workers: int = systems(default=0, ge=0, doc="DataLoader processes")

A config class is frozen and keyword-only. An instance holds one value for every
knob; where a sweep states its space, some of the values are domains.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import get_annotations
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

from orchestrator.errors import KnobError
from orchestrator.field_types import shown, wrong_fields
from orchestrator.space.configs import CONFIG_METHODS
from orchestrator.space.knob import TYPES, Knob, Role

V = TypeVar("V")
C = TypeVar("C")


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
    for name, method in CONFIG_METHODS.items():
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

"""Knobs in Optuna's words: its distributions, and its parameters for a knob's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from orchestrator.search.unasked import is_ordered
from orchestrator.space.domains import Choice, Domain


def distribution(domain: Domain) -> BaseDistribution:
    """Return Optuna's counterpart of a domain; of a choice, positions of its values."""
    if isinstance(domain, Choice):
        last = len(domain.values) - 1
        if is_ordered(domain):
            return IntDistribution(0, last)
        return CategoricalDistribution(range(last + 1))
    if domain.integer:
        return IntDistribution(int(domain.low), int(domain.high), log=domain.log)
    return FloatDistribution(domain.low, domain.high, log=domain.log)


def values_of(params: Mapping[str, Any], domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return the knob values of Optuna's suggestion."""
    return {
        name: domain.values[params[name]]
        if isinstance(domain, Choice)
        else domain.snapped(params[name])
        for name, domain in domains.items()
    }


def params_of(values: Mapping[str, Any], domains: Mapping[str, Domain]) -> dict[str, Any]:
    """Return Optuna's parameters, the inverse of :func:`values_of`."""
    return {
        name: domain.values.index(values[name]) if isinstance(domain, Choice) else values[name]
        for name, domain in domains.items()
    }

"""Configs that a sweep asks about."""

import itertools
from typing import Any

from orchestrator import Machine, Sweep
from orchestrator.space.configs import canonical, domains_of, replaced


def wanted(sweep: Sweep[Any], machine: Machine) -> list[Any]:
    """Return the configs of the space that no constraint of the sweep rules out."""
    domains = domains_of(sweep.space)
    rows = itertools.product(*(domain.points(3) for domain in domains.values()))
    each = {canonical(replaced(sweep.space, dict(zip(domains, row, strict=True)))) for row in rows}
    return [
        config
        for config in each
        if all(constraint(config, machine) is None for constraint in sweep.constraints)
    ]


def feasible(sweep: Sweep[Any], machine: Machine) -> list[Any]:
    """Return the configs that can run on a machine."""
    configs = wanted(sweep, machine)
    return [each for each in configs if sweep.trainable.infeasible(each, machine) is None]

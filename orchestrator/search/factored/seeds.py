"""More seeds, and more probes, where they decide: on the composed front and near it."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.search.factored.curves import train
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Findings
from orchestrator.search.factored.front import near_front, points
from orchestrator.search.factored.probes import probe
from orchestrator.trial import Budget

SETTLING: Final = 1 / 3
"""Probes that settle speeds, at most, as a share of those before."""


def repeat_near_front(
    findings: Findings, assigned: Sequence[tuple[Group, Key]], num_seeds: int
) -> Iterator[list[Proposal]]:
    """Train the curves of the front and near it with further seeds, up to ``num_seeds`` each.

    After each round the front is that of the means, so that fewer need the next seed.
    """
    for repeat in range(1, num_seeds):
        near = near_front(findings, points(findings, assigned))
        curves = [findings.curve(point.config, repeat) for point in near]
        yield from train(findings, curves, findings.problem.budget.epochs)


def settle_speeds(
    findings: Findings, groups: Callable[[], Iterable[Group]], budget: Budget
) -> Iterator[list[Proposal]]:
    """Probe the fastest settings of the groups that matter, until their speeds are known.

    The fastest of many noisy means is too good: where runs of a setting differ much, the first
    looks leave several that chance may have ordered. Each round doubles the probes of a group's
    fastest and of those within chance of it, until their standard errors are below the tie margin.

    Args:
        findings: What is known.
        groups: Returns the groups. They may change with what is found.
        budget: Budget of a probe.
    """
    speeds, settings = findings.speeds, [s for g in findings.factors.groups for s in g.settings]
    left = math.ceil(SETTLING * sum(map(speeds.num_asked, settings)))
    for number in itertools.count():
        asked: list[Proposal] = []
        for group, setting in _in_question(findings, list(dict.fromkeys(groups()))):
            key, _ = group.to_probe(setting)
            before = speeds.num_asked(setting)
            repeats = range(before, before + min(before, left - len(asked)))
            asked += [probe(findings, key, repeat, budget) for repeat in repeats]
        if not asked:
            return
        left -= len(asked)
        random.Random(f"settling {number} of {findings.problem.seed}").shuffle(asked)
        yield asked


def _in_question(findings: Findings, groups: Sequence[Group]) -> list[tuple[Group, Key]]:
    """Return the settings to probe further: each group's fastest before their rivals."""
    speeds, margin = findings.speeds, findings.goals.tie_margin
    found = [
        (place, group, setting)
        for group in groups
        for place, setting in enumerate(
            speeds.near(findings.fastest(group), speeds.able(group.settings))
        )
        if speeds.standard_error(setting) > margin
    ]
    return [(group, setting) for _, group, setting in sorted(found, key=lambda each: each[0])]

"""More seeds, and more probes, where they decide: on the composed front and near it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.search.base import Proposal
from orchestrator.search.candidates import Key
from orchestrator.search.factored.curves import train
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Findings
from orchestrator.search.factored.front import near_front, points
from orchestrator.search.factored.probes import probe
from orchestrator.trial import Budget


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


def probe_fastest(
    findings: Findings, groups: Iterable[Group], num_probes: int, budget: Budget
) -> Iterator[list[Proposal]]:
    """Probe the fastest setting of each group until it has ``num_probes``.

    One that was told from all others of its group by a single probe has a speed that is known
    from that one alone, which does not place it among the groups.
    """
    asked = []
    for group in dict.fromkeys(groups):
        setting = findings.fastest(group)
        key, _ = group.to_probe(setting)
        repeats = range(findings.speeds.num_asked(setting), num_probes)
        asked += [probe(findings, key, repeat, budget) for repeat in repeats]
    random.Random(f"probes of the fastest of {findings.problem.seed}").shuffle(asked)
    if asked:
        yield asked

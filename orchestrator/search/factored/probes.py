"""The settings' speeds by short isolated runs, those that are clearly slower dropped on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Findings
from orchestrator.trial import Budget, Stage

TIES_FROM: Final = 4
"""Probes of a setting from which on equal speeds are taken for a tie."""


def looks(max_probes: int) -> tuple[int, ...]:
    """Return the numbers of probes of a setting after which it may be dropped: 1, 2, 4, 6."""
    below = [2**power for power in range(max_probes.bit_length()) if 2**power < max_probes]
    return (*below, max_probes)


def look(findings: Findings, num_probes: int, budget: Budget) -> Iterator[list[Proposal]]:
    """Probe all settings that a choice depends on, until each has so many probes.

    They are handed out together, in random order. A probe of each repeat has the same seed and, but
    for constraints, the same values of the learning knobs, so that their fingerprints compare.
    """
    asked = []
    for group in findings.factors.groups:
        for setting in _undecided(findings, group, num_probes):
            key, _ = group.to_probe(setting)
            repeats = range(findings.speeds.num_asked(setting), num_probes)
            asked += [probe(findings, key, repeat, budget) for repeat in repeats]
    first = asked[:1] if num_probes == 1 else []  # the baseline's setting
    others = asked[len(first) :]
    random.Random(f"look {num_probes} of {findings.problem.seed}").shuffle(others)
    if asked:
        yield [*first, *others]


def probe(findings: Findings, key: Key, repeat: int, budget: Budget) -> Proposal:
    """Return a short isolated run of a config."""
    return Proposal(
        config=findings.config(key), budget=budget, stage=Stage.PROBE, repeat=repeat, isolated=True
    )


def _undecided(findings: Findings, group: Group, num_probes: int) -> list[Key]:
    """Return the settings of a group that are to be probed further."""
    if num_probes == 1:
        return list(group.settings)
    speeds = findings.speeds
    contenders = speeds.contenders(group.settings)
    least = min((speeds.num_runs(each) for each in contenders), default=0)
    is_tie = least >= TIES_FROM and len(speeds.ties(group.settings)) == len(contenders)
    return [] if len(contenders) < 2 or is_tie else contenders

"""Probes: short isolated runs for the speeds of settings; the clearly slower ones are dropped."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Findings
from orchestrator.trial import Budget, Stage

SETTLING: Final = 1 / 3
"""Probes that settle speeds, at most, as a share of those before."""

TIES_FROM: Final = 4
"""Probes of a setting from which on equal speeds are taken for a tie."""


def looks(max_probes: int) -> tuple[int, ...]:
    """Return the numbers of probes of a setting after which it may be dropped: 1, 2, 4, 6."""
    below = [2**power for power in range(max_probes.bit_length()) if 2**power < max_probes]
    return (*below, max_probes)


def look(findings: Findings, num_probes: int, budget: Budget) -> Iterator[list[Proposal]]:
    """Probe all settings that a choice depends on, until each has so many probes.

    They are asked for together, in random order. Probes of a repeat have one seed and, as far as
    constraints allow, one value of each learning knob, so that their fingerprints compare.
    """
    asked = []
    if not findings.factors.has_choice:
        return
    for group in findings.factors.groups:
        for setting in _undecided(findings, group, num_probes):
            key, _ = group.to_probe(setting)
            repeats = range(findings.speeds.num_asked(setting), num_probes)
            asked += [probe(findings, key, repeat, budget) for repeat in repeats]
    first = asked[:1] if num_probes == 1 else []  # the baseline's setting
    yield [*first, *findings.shuffled(asked[len(first) :], f"look {num_probes}")]


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


def settle_speeds(
    findings: Findings, groups: Callable[[], Iterable[Group]], budget: Budget
) -> Iterator[list[Proposal]]:
    """Probe the fastest settings of the groups that matter, until their speeds are known.

    Each round doubles the probes of a group's fastest setting and of those within chance of it,
    until their standard errors are below the tie margin.

    Args:
        findings: What is known.
        groups: Returns the groups. They may change with what is found.
        budget: Budget of a probe.
    """
    if not findings.factors.has_choice:
        return
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
        yield findings.shuffled(asked, f"settling {number}")


def _in_question(findings: Findings, groups: Sequence[Group]) -> list[tuple[Group, Key]]:
    """Return the settings to probe further: each group's fastest before their rivals."""
    speeds, margin = findings.speeds, findings.goals.tie_margin
    found = [
        (place, group, setting)
        for group in groups
        for place, setting in enumerate(
            speeds.near(findings.fastest(group), speeds.able(group.settings))
        )
        if speeds.spread > margin * math.sqrt(speeds.num_runs(setting))
    ]
    return [(group, setting) for _, group, setting in sorted(found, key=lambda each: each[0])]

"""Probes of a factored search: short isolated runs, until the speeds of settings are known."""

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from orchestrator.formats import counted
from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.search.factored.factors import Group
from orchestrator.search.factored.findings import Findings
from orchestrator.search.factored.speed_model import SpeedModel
from orchestrator.trial import Budget, Stage

SAMPLED_FROM: Final = 50
"""Settings from which on not all are probed: a model of the speeds selects them."""

SAMPLED: Final = 1 / 8
"""Share of these settings that is probed first, at random."""

AUDITED: Final = 1 / 20
"""Share of the settings that the model rules out that is probed all the same."""

MOST_OFF: Final = 2.0
"""Root mean square error of the audited speeds, in standard deviations, beyond which the model is
wrong and all settings are probed."""

SETTLING: Final = 1 / 5
"""Time of the probes that settle speeds, at most, as a share of what the trainings took."""

SETTLING_OF_PROBES: Final = 1 / 3
"""The same as a share of what the probes before took, where that is more."""

TIES_FROM: Final = 4
"""Probes of a setting from which on equal speeds are taken for a tie."""


def looks(max_probes: int) -> tuple[int, ...]:
    """Return the numbers of probes of a setting after which it may be dropped: 1, 2, 4, 6."""
    below = [2**power for power in range(max_probes.bit_length()) if 2**power < max_probes]
    return (*below, max_probes)


def num_first(findings: Findings) -> int:
    """Return the fewest settings that the first look probes."""
    num = findings.factors.num_settings
    is_sampled = num >= SAMPLED_FROM and findings.model is not None
    return math.ceil(SAMPLED * num) if is_sampled else num


def look(findings: Findings, num_probes: int, budget: Budget) -> Iterator[list[Proposal]]:
    """Probe all settings that a choice depends on, until each has so many probes.

    They are asked for together, in random order. Probes of a repeat have one seed and, as far as
    constraints allow, one value of each learning knob, so that their fingerprints compare.
    """
    if not findings.factors.has_choice:
        return
    groups, model = findings.factors.groups, findings.model
    if num_probes == 1:
        settings = [setting for group in groups for setting in group.settings]
        if num_first(findings) == len(settings):
            yield _asked(findings, settings, 1, budget)
        elif model is not None and not model.is_fitted:
            yield from _look_at_some(findings, model, budget)
        return
    if model is not None:
        model.fit(findings.speeds)
    undecided = [setting for group in groups for setting in _undecided(findings, group)]
    yield _asked(findings, undecided, num_probes, budget)


def _look_at_some(
    findings: Findings, model: SpeedModel, budget: Budget
) -> Iterator[list[Proposal]]:
    """Probe some settings at random, then those that may be the fastest by a model of the speeds.

    A part of the others is an audit of the model. If it fails, they are probed as well, and the
    model is not used.
    """
    speeds, groups = findings.speeds, findings.factors.groups
    settings = [setting for group in groups for setting in group.settings]
    rng = random.Random(f"settings of {findings.problem.seed}")
    baseline = findings.factors.setting_of(findings.factors.candidates.keys[0])
    # Roles are checked on pairs that differ in one knob: the baseline's neighbours have all values.
    neighbours = [
        setting
        for setting in groups[0].settings
        if sum(a != b for a, b in zip(setting, baseline, strict=True)) == 1
    ]
    unknown = [setting for setting in settings if not speeds.num_asked(setting)]
    num = max(num_first(findings) + len(unknown) - len(settings), 0)
    some = rng.sample(unknown, num)
    of_each_group = [rng.choice(group.settings) for group in groups]
    picked = list(dict.fromkeys([baseline, *neighbours, *some, *of_each_group]))
    while picked:
        yield _asked(findings, picked, 1, budget)
        model.fit(speeds)
        contenders = [each for group in groups for each in _contenders(findings, group.settings)]
        picked = [setting for setting in contenders if not speeds.num_asked(setting)]
    if left := [setting for setting in settings if not speeds.num_asked(setting)]:
        audited = rng.sample(left, math.ceil(AUDITED * len(left)))
        yield from _audit(findings, model, left, audited, budget)


def _audit(
    findings: Findings,
    model: SpeedModel,
    left: Sequence[Key],
    audited: Sequence[Key],
    budget: Budget,
) -> Iterator[list[Proposal]]:
    """Probe some of the settings that the model rules out; all of them if it is wrong for these."""
    expected, speeds = model.predicted(audited), findings.speeds
    yield _asked(findings, audited, 1, budget)
    errors = [
        (speeds.mean(setting) - mean) / math.hypot(deviation, speeds.spread)
        for setting, (mean, deviation) in zip(audited, expected, strict=True)
        if speeds.num_runs(setting)
    ]
    of_settings = counted(findings.factors.num_settings, "setting")
    if errors and math.sqrt(fmean(error**2 for error in errors)) > MOST_OFF:
        findings.model = None
        findings.notes.append(
            f"a model of the speeds of {of_settings} was wrong for {len(errors)} that it had ruled "
            "out: all are probed"
        )
        yield _asked(findings, left, 1, budget)
    elif num_left := len(left) - len(audited):
        findings.notes.append(
            f"{num_left:,} of {of_settings} are not probed: by a model of the speeds none of them "
            f"is faster than the best by more than the tie margin; {len(errors)} others that it "
            "had ruled out were as slow as expected"
        )


def _asked(
    findings: Findings, settings: Sequence[Key], num_probes: int, budget: Budget
) -> list[Proposal]:
    """Return the probes until each setting has so many, in random order; the baseline's first."""
    speeds, group_of = findings.speeds, findings.factors.group_of
    asked = [
        probe
        for setting in settings
        for probe in _probes(
            findings,
            group_of[setting].to_probe(setting),
            range(speeds.num_asked(setting), num_probes),
            budget,
        )
    ]
    first = asked[:1] if num_probes == 1 else []
    return [*first, *findings.shuffled(asked[len(first) :], f"look {num_probes}")]


def _probes(findings: Findings, key: Key, numbers: Iterable[int], budget: Budget) -> list[Proposal]:
    """Return short isolated runs of a config."""
    run = Proposal(config=findings.config(key), budget=budget, stage=Stage.PROBE, isolated=True)
    return [replace(run, repeat=repeat) for repeat in numbers]


def _undecided(findings: Findings, group: Group) -> list[Key]:
    """Return the settings of a group that are to be probed further."""
    speeds, contenders = findings.speeds, _contenders(findings, group.settings)
    least = min((speeds.num_runs(each) for each in contenders), default=0)
    is_tie = least >= TIES_FROM and len(speeds.ties(group.settings)) == len(contenders)
    return [] if len(contenders) < 2 or is_tie else contenders


def _contenders(findings: Findings, settings: Sequence[Key]) -> list[Key]:
    """Return the settings that may be the fastest: by the model, where there is one.

    The fastest of the probed ones is among them.
    """
    speeds, model = findings.speeds, findings.model
    able = speeds.able(settings)
    if model is None or not model.is_fitted or not able:
        return speeds.contenders(settings)
    contenders = model.contenders(able, findings.goals.tie_margin)
    return list(dict.fromkeys([*contenders, max(able, key=speeds.mean)]))


def groups_to_train(findings: Findings) -> Sequence[Group]:
    """Return all groups; of speed alone the baseline's, and those that may have the fastest."""
    groups, goals = findings.factors.groups, findings.goals
    if goals.learned or goals.others:
        return groups
    left = {*_contenders(findings, [setting for group in groups for setting in group.settings])}
    return [each for each in groups if each is groups[0] or left.intersection(each.settings)]


def settle_speeds(
    findings: Findings, groups: Callable[[], Iterable[Group]], budget: Budget
) -> Iterator[list[Proposal]]:
    """Probe the fastest settings of the groups that matter, until their speeds are known.

    Each round doubles the probes of a group's fastest setting and of those within chance of it,
    until their standard errors are below the tie margin. They take no more than their share of the
    time of the trainings, or of the probes before.

    Args:
        findings: What is known.
        groups: Returns the groups. They may change with what is found.
        budget: Budget of a probe.
    """
    if not findings.factors.has_choice:
        return
    speeds, settings = findings.speeds, [s for g in findings.factors.groups for s in g.settings]
    probed_s = findings.spent_s[Stage.PROBE] or math.inf
    share = max(SETTLING_OF_PROBES, SETTLING * findings.spent_s[Stage.TRAIN] / probed_s)
    left = math.ceil(share * sum(map(speeds.num_asked, settings)))
    for number in itertools.count():
        asked: list[Proposal] = []
        for group, setting in _in_question(findings, list(dict.fromkeys(groups()))):
            before = speeds.num_asked(setting)
            numbers = range(before, before + min(before, left - len(asked)))
            asked += _probes(findings, group.to_probe(setting), numbers, budget)
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

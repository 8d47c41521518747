"""Systems knobs that change what is trained on, by the fingerprints of the probes.

Probes of one group, one seed and the same learning knobs differ in the systems knobs alone. If
their first batches and first losses are the same, these knobs change nothing that is learned, as
far as that stretch goes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from orchestrator.kernel.problem import Key
from orchestrator.search.factored.factors import Factors, Group
from orchestrator.search.factored.findings import Findings, Fingerprint
from orchestrator.space.knob import Role

LOSS_TOLERANCE: Final = 1e-5
"""Difference of first losses that threads and kernels make, as a fraction of the loss."""


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """A systems knob with two probes that differ in it, and in what they trained on.

    Attributes:
        knob: The knob.
        group: Group of the two.
        pair: Their configs.
        differ: ``batches`` or ``first losses``.
    """

    knob: str
    group: Group
    pair: tuple[Key, Key]
    differ: str


def suspects(findings: Findings) -> list[Suspect]:
    """Return the systems knobs that change the fingerprint, each with a pair that shows it.

    The pair differs in the knob alone where there is such a pair; the fastest pairs come first.
    """
    factors, found = findings.factors, dict[str, Suspect]()
    knobs = factors.varied(Role.SYSTEMS)
    for classes in _classes(findings):
        for suspect in _differing_in_one(findings, classes, knobs):
            found.setdefault(suspect.knob, suspect)
    for classes in _classes(findings):
        for suspect in _unexplained(findings, classes, knobs, set(found)):
            found.setdefault(suspect.knob, suspect)
    return list(found.values())


def has_fingerprints(findings: Findings) -> bool:
    """Return True if any probe had a fingerprint."""
    return any(
        each.batches or each.first_loss == each.first_loss
        for each in findings.fingerprints.values()
    )


Classes = tuple[Group, Sequence[tuple[Key, Fingerprint]]]
"""A group with its probes on one curve, the fastest first."""


def _classes(findings: Findings) -> Iterator[Classes]:
    for group in findings.factors.groups:
        by_curve: dict[Key, list[tuple[Key, Fingerprint]]] = defaultdict(list)
        for setting in sorted(group.settings, key=findings.speeds.mean, reverse=True):
            key, curve = group.to_probe(setting)
            if key in findings.fingerprints:
                by_curve[curve].append((key, findings.fingerprints[key]))
        yield from ((group, probes) for probes in by_curve.values())


def _differing_in_one(
    findings: Findings, classes: Classes, knobs: Sequence[str]
) -> Iterator[Suspect]:
    group, probes = classes
    for knob in knobs:
        alike: dict[Key, list[tuple[Key, Fingerprint]]] = defaultdict(list)
        for key, fingerprint in probes:
            place = _place(findings.factors, knob)
            alike[key[:place] + key[place + 1 :]].append((key, fingerprint))
        for members in alike.values():
            yield from _suspects_among(group, members, knob)


def _unexplained(
    findings: Findings, classes: Classes, knobs: Sequence[str], explained: set[str]
) -> Iterator[Suspect]:
    """Yield suspects for probes that differ though they are alike in all that is explained."""
    group, probes = classes
    places = {knob: _place(findings.factors, knob) for knob in knobs}
    alike: dict[Key, list[tuple[Key, Fingerprint]]] = defaultdict(list)
    for key, fingerprint in probes:
        alike[tuple([key[places[knob]] for knob in knobs if knob in explained])].append(
            (key, fingerprint)
        )
    for members in alike.values():
        for (one, _), (other, _) in _differing_pairs(members):
            for knob in knobs:
                if one[places[knob]] != other[places[knob]]:
                    yield from _suspects_among(
                        group, [each for each in members if each[0] in (one, other)], knob
                    )


def _suspects_among(
    group: Group, members: Sequence[tuple[Key, Fingerprint]], knob: str
) -> Iterator[Suspect]:
    for (one, a), (other, b) in _differing_pairs(members):
        differ = "batches" if a.batches != b.batches else "first losses"
        yield Suspect(knob=knob, group=group, pair=(one, other), differ=differ)


def _differing_pairs(
    members: Sequence[tuple[Key, Fingerprint]],
) -> Iterator[tuple[tuple[Key, Fingerprint], tuple[Key, Fingerprint]]]:
    """Yield neighbours that differ: at least one pair if not all are the same."""
    return ((a, b) for a, b in pairwise(members) if not _same(a[1], b[1]))


def _same(one: Fingerprint, other: Fingerprint) -> bool:
    """Return True unless the two are known to differ."""
    if one.batches and other.batches and one.batches != other.batches:
        return False
    losses = one.first_loss, other.first_loss
    return any(map(math.isnan, losses)) or math.isclose(*losses, rel_tol=LOSS_TOLERANCE)


def _place(factors: Factors, knob: str) -> int:
    return list(factors.problem.base).index(knob)

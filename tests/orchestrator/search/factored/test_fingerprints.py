"""Systems knobs that are found by the fingerprints of probes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from orchestrator.search import Factored
from orchestrator.search.factored.findings import Findings, Fingerprint
from orchestrator.search.factored.fingerprints import has_fingerprints, suspects
from orchestrator.search.factored.goal import goals_of
from orchestrator.search.factored.speeds import Speeds
from tests.orchestrator.search.factored.simulated import LARGE, problem
from tests.orchestrator.search.playing import completed


def probed(of: Callable[[Mapping[str, Any]], tuple[str, float]]) -> Findings:
    """Findings after a probe of each setting, whose batches and first loss are given."""
    factors = Factored().factors(problem(LARGE))
    goals = goals_of(factors.problem)
    findings = Findings(factors, goals, Speeds(goals, 4, 0.05))
    for group in factors.groups:
        for setting in group.settings:
            key, _ = group.to_probe(setting)
            config = findings.config(key)
            batches, first_loss = of(config)
            findings.speeds.add(setting, completed(samples_per_s=1000.0 + config["workers"]))
            findings.fingerprints[key] = Fingerprint(batches=batches, first_loss=first_loss)
    return findings


def test_groups_may_differ_and_losses_in_their_last_bits() -> None:
    found = probed(lambda c: (f"{c['batch']}", 2.3 + c["batch"] + 1e-6 * c["workers"]))
    assert suspects(found) == []
    assert has_fingerprints(found)


@pytest.mark.parametrize("knob", ["workers", "prefetch", "pin"])
def test_the_knob_that_changes_the_batches_is_found_with_a_pair_that_shows_it(knob: str) -> None:
    found = probed(lambda c: (f"{c['batch']} {c[knob]}", 2.3))
    (suspect,) = suspects(found)
    assert (suspect.knob, suspect.differ) == (knob, "batches")
    one, other = map(found.config, suspect.pair)
    assert {name for name in one if one[name] != other[name]} <= {knob, "prefetch"}


def test_first_losses_that_differ_by_more_than_kernels_do_are_found() -> None:
    (suspect,) = suspects(probed(lambda c: ("same", 2.3 + 1e-3 * c["pin"])))
    assert (suspect.knob, suspect.differ) == ("pin", "first losses")


def test_two_knobs_are_found_each() -> None:
    found = suspects(probed(lambda c: (f"{c['workers']} {c['pin']}", math.nan)))
    assert {suspect.knob for suspect in found} == {"workers", "pin"}


def test_a_trainable_without_fingerprints_has_none() -> None:
    found = probed(lambda c: ("", math.nan))
    assert suspects(found) == []
    assert not has_fingerprints(found)

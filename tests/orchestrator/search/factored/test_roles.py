"""Wrong roles: fingerprints of probes, paired curves, and the time of a step."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from orchestrator.search.factored.findings import Findings, Fingerprint
from orchestrator.search.factored.roles import (
    check_baseline,
    check_learning,
    check_systems,
    suspects,
    what_differs,
)
from orchestrator.space.knob import Role
from tests.orchestrator.search.factored import simulated
from tests.orchestrator.search.playing import completed, trial_of


def findings_of(order_by_workers: bool = True) -> Findings:
    return probed(lambda c: (str(c["workers"] * order_by_workers), 2.3), simulated.SMALL)


def paired(differences: Sequence[float]) -> tuple[int, Findings]:
    """Check the roles, with these differences between the curves by seed; return the trainings."""
    findings, num, configs = findings_of(), 0, list[str]()
    for batch in check_systems(findings):
        for proposal in batch:
            num += 1
            configs.append(str(proposal.config))
            is_first = str(proposal.config) == configs[0]
            accuracy = 0.9 + differences[proposal.repeat] * is_first
            findings.tell(trial_of(proposal), completed(val_acc=accuracy, epochs=9.0))
        assert len(set(configs)) == 2
    return num, findings


@pytest.mark.parametrize(
    ("differences", "trainings", "role", "num_groups"),
    [
        ([0.0001, -0.0002, 0.0001], 6, Role.SYSTEMS, 4),
        ([0.001, -0.001, 0.001, -0.001, 0.0], 10, Role.SYSTEMS, 4),
        ([0.01, 0.011, 0.009], 6, Role.BOTH, 20),
        ([0.01, -0.01, 0.0], 6, Role.BOTH, 20),
    ],
)
def test_curves_of_three_seeds_or_five_decide_on_the_role(
    differences: list[float], trainings: int, role: Role, num_groups: int
) -> None:
    num, findings = paired(differences)
    assert (num, findings.factors.roles["workers"]) == (trainings, role)
    assert len(findings.factors.groups) == num_groups


@pytest.mark.parametrize("is_replayed", [False, True])
def test_a_run_that_a_replay_draws_again_shows_no_difference(is_replayed: bool) -> None:
    known = simulated.findings(simulated.SMALL)
    for group in known.factors.groups:
        for setting in group.settings:
            workers = known.config(group.to_probe(setting))["workers"]
            known.speeds.add(setting, completed(samples_per_s=1000.0 + 100 * workers))
    for batch in check_baseline(known):
        for proposal in batch:
            run = 1e-4 * proposal.repeat * (not is_replayed)
            accuracy = 0.95 - 0.02 * (proposal.config["workers"] > 0) + run
            figures = {"val_acc": accuracy, "epochs": 9.0, "step_ms": 2.0 + run}
            known.tell(trial_of(proposal), completed(**figures))
    assert bool(known.notes) is not is_replayed


def with_steps(slow: float, spread: float, seed: int, probes: int, parts: int = 1) -> list[str]:
    """Notes on the learning rate: the slowed one takes so many times as long."""
    rng, findings = random.Random(seed), findings_of()
    for group in findings.factors.groups:
        for setting in group.settings:
            for _ in range(probes):
                rate = 1000.0 * math.exp(rng.gauss(0, 0.03))
                findings.speeds.add(setting, completed(samples_per_s=rate))
        for curve in group.curves:
            factor = slow if curve[-1] == 0.3 else 1.0
            known = findings.curve(group.configs[group.settings[0], curve])
            known.step_ms += [10 * factor * math.exp(rng.gauss(0, spread)) for _ in range(parts)]
    check_learning(findings, list(findings.curves.values()))
    return findings.notes


@pytest.mark.parametrize("probes", [0, 3])
def test_a_learning_rate_that_slows_steps_by_a_fifth_is_found(probes: int) -> None:
    notes = [with_steps(1.2, 0.03, seed, probes) for seed in range(20)]
    assert sum(map(len, notes)) == 20
    assert all("lr=0.3" in note for (note,) in notes)


def test_one_slow_part_of_a_curve_hides_no_effect() -> None:
    """Such as the first part, which touches its memory: the median of the parts counts."""
    rng, notes = random.Random(0), list[str]()
    for _ in range(20):
        findings = findings_of()
        for group in findings.factors.groups:
            for curve in group.curves:
                factor = 1.3 if curve[-1] == 0.3 else 1.0
                known = findings.curve(group.configs[group.settings[0], curve])
                parts = [10.0 * factor * math.exp(rng.gauss(0, 0.03)) for _ in range(3)]
                known.step_ms += [parts[0] * rng.choice([1.0, 1.0, 2.0]), *parts[1:]]
        check_learning(findings, list(findings.curves.values()))
        notes += findings.notes
    assert len(notes) == 20
    assert all("lr=0.3" in note for note in notes)


@pytest.mark.parametrize("spread", [0.03, 0.15])
def test_noise_is_not_taken_for_an_effect(spread: float) -> None:
    for parts in (1, 3):
        assert sum(len(with_steps(1.0, spread, seed, 3, parts)) for seed in range(100)) <= 1


def probed(
    of: Callable[[Mapping[str, Any]], tuple[str, float]], space: simulated.Config = simulated.LARGE
) -> Findings:
    """Findings after a probe of each setting; ``of`` returns its batches and first loss."""
    findings = simulated.findings(space)
    for group in findings.factors.groups:
        for setting in group.settings:
            key = group.to_probe(setting)
            config = findings.config(key)
            batches, first_loss = of(config)
            findings.speeds.add(setting, completed(samples_per_s=1000.0))
            findings.fingerprints[key] = Fingerprint(batches=batches, first_loss=first_loss)
    return findings


def test_groups_may_differ_and_losses_in_their_last_bits() -> None:
    found = probed(lambda c: (f"{c['batch']}", 2.3 + c["batch"] + 1e-6 * c["workers"]))
    assert suspects(found) == {}


@pytest.mark.parametrize("knob", ["workers", "prefetch", "pin"])
def test_the_knob_that_changes_the_batches_is_found_with_a_pair_that_shows_it(knob: str) -> None:
    found = probed(lambda c: (f"{c['batch']} {c[knob]}", 2.3))
    [(name, pair)] = suspects(found).items()
    assert (name, what_differs(found, pair)) == (knob, "batches")
    one, other = map(found.config, pair)
    assert {name for name in one if one[name] != other[name]} <= {knob, "prefetch"}

"""Curves: rungs, what passes them, the composed front; speeds: what is dropped, what ties."""

import math
import random
from dataclasses import replace

import pytest

from orchestrator.kernel.problem import Key
from orchestrator.kernel.search import Proposal
from orchestrator.metrics import Objective, at_most, maximize, minimize
from orchestrator.search.factored.curves import decisive, near_front, rungs, survivors
from orchestrator.search.factored.factors import Goals
from orchestrator.search.factored.findings import Curve, Findings
from orchestrator.search.factored.probes import TIES_FROM, looks, settle_speeds
from orchestrator.search.factored.speeds import Speeds
from orchestrator.trial import Budget, Stage
from tests.orchestrator.search.factored import simulated
from tests.orchestrator.search.playing import completed, trial_of


@pytest.mark.parametrize(
    ("epochs", "expected"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 3)), (9, (1, 3, 9)), (10, (2, 4, 10)), (90, (10, 30, 90))],
)
def test_rungs_are_whole_epochs(epochs: int, expected: tuple[int, ...]) -> None:
    assert rungs(epochs) == expected


def findings(*objectives: str) -> Findings:
    named = [maximize("samples_per_s"), *map(maximize, objectives or ("val_acc",))]
    return simulated.findings(objectives=named)


def curves(*figures: tuple[float, ...] | None) -> list[Curve]:
    found = [Curve(config=(i,), repeat=0) for i in range(len(figures))]
    for curve, each in zip(found, figures, strict=True):
        curve.is_lost = each is None
        if each is not None:
            curve.seen(1, each)
    return found


@pytest.mark.parametrize(
    ("figures", "kept", "left"),
    [
        ([0.90, 0.7, 0.80, 0.796, None], [], [0, 2, 3]),
        ([0.90, 0.80, 0.70, 0.697, 0.694, 0.5], [], [0, 1, 2, 3, 4]),
        ([0.9, 0.1, None], [1, 2], [0, 1]),
    ],
)
def test_the_better_two_thirds_are_left_and_what_is_within_the_tolerance_or_kept(
    figures: list[float | None], kept: list[int], left: list[int]
) -> None:
    known = curves(*(None if each is None else (each,) for each in figures))
    found = survivors(findings(), known, kept=[known[i] for i in kept], epochs=1)
    assert found == [known[i] for i in left]


def test_a_curve_that_was_trained_further_has_no_lead_by_that() -> None:
    """One of a knob that was tried out is whole before the others have begun."""
    known = curves((0.5,), (0.6,), (0.6,), (0.6,))
    known[0].seen(9, (0.97,))
    assert survivors(findings(), known, kept=(), epochs=1) == known[1:]


@pytest.mark.parametrize(
    ("metrics", "found", "near"),
    [
        (("val_acc",), [(2.0, 0.97), (1.0, 0.968), (1.0, 0.967), (3.0, 0.9)], [0, 1, 3]),
        # One that is faster and worse in a single figure beats nothing.
        (
            ("val_acc", "val_f1_acc"),
            [(2.0, 0.97, 0.7), (1.0, 0.95, 0.9), (1.0, 0.95, 0.69)],
            [0, 1],
        ),
    ],
)
def test_half_a_tolerance_below_a_faster_one_is_within_noise(
    metrics: tuple[str, ...], found: list[tuple[float, ...]], near: list[int]
) -> None:
    """Each group has one curve, with the logarithm of its speed and its figures."""
    known, assigned = findings(*metrics), []
    for group, (log_speed, *figures) in zip(known.factors.groups, found, strict=False):
        known.speeds.add(group.settings[0], completed(samples_per_s=math.exp(log_speed)))
        assigned.append((group, group.configs[group.settings[0], group.curves[0]]))
        curve = known.curve(assigned[-1][1])
        curve.seen(9, tuple(figures))
        curve.is_over = True
    assert near_front(known, assigned) == [assigned[i] for i in near]


def test_further_seeds_are_for_the_best_and_for_those_at_the_edge_of_the_tolerance() -> None:
    """The tolerance is 0.005: whether 0.966 is near enough to 0.97 depends on the seed."""
    known = findings()
    keys = known.factors.candidates.keys[:4]
    for key, figure in zip(keys, (0.97, 0.966, 0.968, 0.95), strict=True):
        known.curve(key).seen(9, (figure,))
        known.curve(key).is_over = True
    assert decisive(known, keys) == [keys[0], keys[1]]


@pytest.mark.parametrize(("trained_s", "least", "most"), [(0.0, 12, 12), (3600.0, 100, 720)])
def test_probes_that_settle_speeds_take_their_share_of_the_time(
    trained_s: float, least: int, most: int
) -> None:
    """All 36 settings are equally fast and were probed for a second each."""
    known, rng, num = findings(), random.Random(0), 0
    known.spent_s[Stage.TRAIN] = trained_s

    def probe(proposal: Proposal) -> None:
        rate = 1000 * math.exp(rng.gauss(0, 0.08))
        known.tell(trial_of(proposal), completed(samples_per_s=rate))

    for group in known.factors.groups:
        for setting in group.settings:
            config = known.config(group.to_probe(setting))
            probe(Proposal(config=config, budget=Budget(epochs=9), stage=Stage.PROBE))
    for batch in settle_speeds(known, lambda: known.factors.groups, Budget(epochs=9)):
        num += len(batch)
        for proposal in batch:
            probe(proposal)
    assert least <= num <= most


A, B, C = ("a",), ("b",), ("c",)
SPEED, MARGIN = maximize("samples_per_s"), 0.02


def goals(*objectives: Objective) -> Goals:
    return Goals(simulated.problem(objectives=objectives or [SPEED], tie_margin=MARGIN))


def known(**rates: list[float]) -> Speeds:
    speeds = Speeds(goals(), num_comparisons=12, level=0.05)
    for name, values in rates.items():
        for rate in values:
            speeds.add((name,), completed(samples_per_s=rate))
    return speeds


def test_a_spread_larger_than_assumed_brings_back_what_was_dropped() -> None:
    speeds = known(a=[1000.0], b=[830.0])
    assert speeds.contenders([A, B]) == [A]
    for rate in (700.0, 1400.0, 800.0):
        speeds.add(A, completed(samples_per_s=rate))
    assert speeds.contenders([A, B]) == [A, B]


def test_a_contaminated_run_counts_only_until_there_is_a_clean_one() -> None:
    disturbed = replace(completed(samples_per_s=300.0), tags={"contaminated": "30 %"})
    speeds = known(a=[1000.0])
    speeds.add(B, disturbed)
    assert speeds.contenders([A, B]) == [A, B], "it may be as fast"
    speeds.add(B, completed(samples_per_s=990.0))
    speeds.add(B, disturbed)
    assert (speeds.num_runs(B), speeds.num_asked(B)) == (1, 3)
    assert math.exp(speeds.mean(B)) == pytest.approx(990.0)


def test_a_setting_that_violates_a_condition_is_out_if_another_one_meets_it() -> None:
    speeds = Speeds(goals(SPEED, at_most("peak_rss_gib", 20)), 4, 0.05)
    speeds.add(A, completed(samples_per_s=1000.0, peak_rss_gib=30.0))
    assert speeds.able([A]) == [A]
    speeds.add(B, completed(samples_per_s=500.0, peak_rss_gib=10.0))
    assert speeds.able([A, B]) == [B]


def test_the_rate_replaces_a_probe_s_missing_figure_of_the_objective() -> None:
    speeds = Speeds(goals(minimize("epoch_s")), 4, 0.05)
    speeds.add(A, completed(samples_per_s=1000.0, epoch_s=2.0))
    speeds.add(B, completed(samples_per_s=2000.0, epoch_s=1.0))
    assert speeds.mean(B) == pytest.approx(0.0)
    speeds.add(C, completed(samples_per_s=3000.0))
    assert max([A, B, C], key=speeds.mean) == C


def dropped_faster(true: dict[Key, float], rng: random.Random, spread: float) -> bool:
    """Eliminate as the search does; True if one faster than the pick by the margin was dropped."""
    speeds = Speeds(goals(), len(true) * len(looks(6)), level=0.05)
    settings = list(true)
    for num_probes in looks(6):
        left = settings if num_probes == 1 else speeds.contenders(settings)
        if num_probes > TIES_FROM and len(speeds.ties(settings)) == len(left):
            break
        for setting in left:
            for _ in range(speeds.num_asked(setting), num_probes):
                rate = math.exp(true[setting] + rng.gauss(0, spread))
                speeds.add(setting, completed(samples_per_s=rate))
    left, pick = speeds.contenders(settings), rng.choice(speeds.ties(settings))
    return any(true[s] > true[pick] + MARGIN for s in settings if s not in left)


@pytest.mark.parametrize("gap", [0.021, 0.05])
@pytest.mark.parametrize("spread", [0.03, 0.06])
def test_with_95_percent_nothing_faster_than_pick_was_dropped(gap: float, spread: float) -> None:
    """One setting is faster than all others by a little more than the margin: the worst case."""
    rng = random.Random(f"{gap} {spread}")
    true = {(i,): 0.0 if i == 0 else -gap for i in range(12)}
    searches = 60
    assert sum(dropped_faster(true, rng, spread) for _ in range(searches)) <= 0.05 * searches

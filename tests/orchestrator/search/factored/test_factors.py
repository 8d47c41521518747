"""Groups, settings and curves of a space."""

from __future__ import annotations

from orchestrator.search import Factored
from orchestrator.search.factored.factors import Factors
from orchestrator.space.domains import choice
from orchestrator.space.knob import Role
from tests.orchestrator.search.factored.simulated import LARGE, SMALL, problem
from tests.orchestrator.search.playing import Config, small_batches_only
from tests.orchestrator.search.playing import problem as small_problem


def test_the_sizes_of_the_spaces_that_the_search_is_made_for() -> None:
    for space, sizes in ((SMALL, (180, 4, 36, 20)), (LARGE, (1920, 10, 320, 60))):
        factors = Factored().factors(problem(space))
        counts = len(factors.candidates.keys), len(factors.groups)
        num_curves = sum(len(group.curves) for group in factors.groups)
        assert (*counts, factors.num_settings, num_curves) == sizes


def of(**changes: object) -> Factors:
    space = Config(lr=choice(0.03, 0.1), workers=choice(0, 3), batch=choice(100, 1000))
    return Factored().factors(small_problem(**{"space": space, **changes}))


def test_the_baseline_comes_first_in_everything() -> None:
    factors = of()
    baseline = factors.candidates.keys[0]
    group = factors.groups[0]
    assert group.settings[0] == factors.setting_of(baseline)
    assert group.curves[0] == factors.curve_of(baseline)
    for group in factors.groups:
        assert {key[0] for key in (group.to_probe(s)[0] for s in group.settings)} == {0.1}


def test_a_baseline_beside_the_grid_is_a_group_or_a_setting_of_its_own() -> None:
    factors = of(baseline=Config(batch=500))
    assert [len(group.settings) for group in factors.groups] == [1, 2, 2]


def test_a_group_need_not_be_a_full_product() -> None:
    factors = of(constraints=small_batches_only())
    assert [len(group.configs) for group in factors.groups] == [4]


def test_knobs_that_vary_by_role_and_a_knob_that_proves_to_be_both() -> None:
    factors = of()
    assert factors.varied(Role.SYSTEMS) == ["workers"]
    assert factors.varied(Role.LEARNING) == ["lr"]
    more = factors.as_both("workers")
    assert (len(factors.groups), len(more.groups)) == (2, 4)
    assert more.varied(Role.SYSTEMS) == []
    key = factors.candidates.keys[0]
    assert more.setting_of(key) == factors.setting_of(key), "what was probed stays known"
    assert not more.has_choice

"""Groups, settings and curves of a space."""

from __future__ import annotations

from orchestrator.search import Factored
from orchestrator.search.factored.factors import Factors
from orchestrator.space.domains import choice
from orchestrator.space.knob import Role
from tests.orchestrator.search.playing import Config
from tests.orchestrator.search.playing import problem as small_problem


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

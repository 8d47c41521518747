"""The totals of a plan: all stages, least and most; what a budget must have room for."""

from __future__ import annotations

import pytest

from orchestrator.driver.budgets.budgets import Amount, Budgets
from orchestrator.driver.planning.plan import Plan
from orchestrator.driver.planning.totals import (
    Total,
    by_group,
    kept_back,
    least,
    least_useful,
    most,
    require_room,
    share_of_grid,
)
from orchestrator.errors import SweepError
from orchestrator.search import Asha, Factored, Optuna
from orchestrator.space.domains import choice
from tests.orchestrator.driver.plans import GPUS, Config, Staged, plan

THIRTEEN = choice(*range(13))
SECOND = {"": 10.0}
"""Ten seconds a trial on no data."""


def thirteen(**changes: object) -> Plan:
    return plan(space=Config(workers=THIRTEEN, prefetch=2), trial_s=SECOND, **changes)


def test_a_grid_of_13_configs_may_become_61_trials() -> None:
    made = thirteen()
    # 13 + 7, and with repeats of 4 configs and all rounds of 3: 13 + 8 + 40
    assert (least(made).trials, most(made)) == (20, Total(trials=61, amount=_of(61, cores=4)))
    assert least(made).amount == _of(20, cores=4)


def _of(trials: int, cores: int) -> Amount:
    return Amount(time_s=trials * 10.0, core_s=trials * cores * 10.0, gpu_s=0.0)


def test_trials_side_by_side_take_less_time_and_as_many_core_hours() -> None:
    made = thirteen(num_cores=1, check_isolated=0)
    low = least(made)
    assert low.amount == Amount(time_s=(4 + 7) * 10.0, core_s=20 * 10.0)


def test_the_interference_check_and_what_it_trains_again_count() -> None:
    low, high = least(thirteen(num_cores=1)), most(thirteen(num_cores=1))
    assert high is not None
    assert low.trials == 13 + 12 + 7
    # 3 background trials to each of the 12, and the 8 trained before it once more
    assert high.trials == 13 + 12 + 12 * 3 + 8 + 8 + 40


def test_a_search_without_an_end_has_no_most() -> None:
    class Endless(Staged):
        def planned(self, problem: object) -> list:  # type: ignore[type-arg, override]
            stages = super().planned(problem)  # type: ignore[arg-type]
            return [type(stage)(name=stage.name, least=stage.least, most=None) for stage in stages]

    assert most(thirteen(search=Endless())) is None


def test_without_durations_only_trials_are_counted() -> None:
    assert least(plan()) == Total(trials=1 + 4, amount=None)


def test_short_trials_take_their_share() -> None:
    made = thirteen(search=Staged(), confirm=0)
    low = least(made)
    assert low.trials == 3
    assert low.amount is not None
    assert low.amount.time_s == pytest.approx(2 * 0.5 + 10.0)
    assert share_of_grid(made) == pytest.approx(((0.1 + 1) / 13, (0.4 + 2) / 13))
    assert share_of_grid(thirteen()) is None


def test_gpus_count_too() -> None:
    low = least(plan(GPUS, space=Config(ranks=choice(1, 2)), trial_s=SECOND))
    assert low.amount is not None
    assert low.amount.gpu_s > 0


def test_a_budget_must_have_room_for_two_configs_and_the_confirm_stage() -> None:
    made = thirteen()
    assert least_useful(made).trials == 2 + 7
    require_room(made, Budgets(time_s=90.0))
    with pytest.raises(SweepError, match=r"time budget of 89 s is below the least .* 90 s for two"):
        require_room(made, Budgets(time_s=89.0))
    require_room(thirteen(confirm=0), Budgets(time_s=20.0))
    require_room(plan(), Budgets(time_s=1.0))


def test_a_budget_must_have_room_for_the_stages_of_a_search_that_knows_them() -> None:
    with pytest.raises(SweepError, match="for the least of the search and the confirm stage"):
        require_room(thirteen(search=Staged()), Budgets(time_s=80.0))
    require_room(thirteen(search=Staged()), Budgets(time_s=81.0))


def test_a_factored_search_confirms_in_short_runs() -> None:
    class Known(Factored):
        def planned(self, problem: object) -> list:  # type: ignore[type-arg, override]
            return Staged().planned(problem)  # type: ignore[arg-type, return-value]

    made = thirteen(search=Known(probe_steps=96, confirm_steps=384))
    low, high = least(made), most(made)
    assert high is not None
    assert low.amount is not None
    assert high.amount is not None
    # 2 probes and 1 training; 6 runs four times as long as a probe, and the test run
    assert low.trials == 3 + 7
    assert low.amount.time_s == pytest.approx(2 * 0.5 + 6 * 2.0 + 2 * 10.0)
    # 8 probes, 2 trainings, 39 such runs, the test run and one more of the front
    assert high.trials == 10 + 40 + 1
    assert high.amount.time_s == pytest.approx(8 * 0.5 + 39 * 2.0 + (2 + 2) * 10.0)
    longer = thirteen(search=Known(probe_steps=96, confirm_steps=9600))
    assert least(longer).amount == Amount(time_s=2 * 0.5 + 8 * 10.0, core_s=4 * 81.0)


def test_trials_that_are_stopped_early_take_less_at_least() -> None:
    stopped = thirteen(stopping=Asha(grace=1, factor=3), epochs=9, confirm=0, max_repeats=1)
    low, high = least(stopped), most(stopped)
    assert high is not None
    assert low.amount is not None
    assert high.amount is not None
    assert low.amount.time_s == pytest.approx(130 * (1 + 2 / 3 + 6 / 9) / 9)
    assert high.amount.time_s == 130


def test_the_totals_of_all_groups_are_the_total() -> None:
    for made in (thirteen(num_cores=1), thirteen(search=Staged()), thirteen(confirm=0)):
        low, high = by_group(made)
        assert high is not None
        for groups, total in ((low, least(made)), (high, most(made))):
            assert total is not None
            assert total.amount is not None
            assert sum(one.trials for one in groups.values()) == total.trials
            times = [one.amount.time_s for one in groups.values() if one.amount is not None]
            assert sum(times) == pytest.approx(total.amount.time_s)


def test_what_is_kept_back_is_the_first_analysis_of_all_finalists() -> None:
    plenty = Budgets(time_s=1000.0)
    assert kept_back(thirteen(), plenty).time_s == pytest.approx(1.1 * (3 * 3 + 1) * 10.0)
    assert kept_back(thirteen(confirm=0), plenty) == Amount()


def test_a_budget_that_is_not_refused_keeps_the_selected_configs_confirm_runs() -> None:
    tight = Budgets(time_s=90.0)  # two configs and seven confirm runs
    require_room(thirteen(), tight)
    assert kept_back(thirteen(), tight).time_s == 70.0
    assert kept_back(thirteen(), Budgets(time_s=129.0)).time_s == 70.0
    assert kept_back(thirteen(), Budgets(time_s=130.0)).time_s == pytest.approx(110.0)


def test_a_search_that_chooses_is_counted_by_its_limit() -> None:
    assert least(thirteen(search=Optuna(5), confirm=0)).trials == 5
    assert least(thirteen(search=Factored(), confirm=0)).trials >= 1

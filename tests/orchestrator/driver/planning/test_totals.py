"""Totals of a plan, least and most; the least room of a budget; the rest of a run."""

import pytest

from orchestrator.driver.budgets import Amount, Budgets
from orchestrator.driver.planning.plan import Plan, Total, least, most, num_rows
from orchestrator.driver.planning.spending import require_room
from orchestrator.errors import SweepError
from orchestrator.search import Asha, Factored
from orchestrator.space.domains import choice
from tests.orchestrator.driver.plans import Config, Staged, plan

THIRTEEN = choice(*range(13))


def thirteen(**changes: object) -> Plan:
    """Return a plan of 13 configs, ten seconds a trial."""
    return plan(space=Config(workers=THIRTEEN, prefetch=2), trial_s={"": 10.0}, **changes)


def _of(trials: int, cores: int) -> Amount:
    return Amount(time_s=trials * 10.0, core_s=trials * cores * 10.0)


def test_a_grid_of_13_configs_may_become_49_trials() -> None:
    made = thirteen()
    # 13 + 7, and with repeats of 4 configs and all rounds of 3: 13 + 8 + 28
    assert least(made) == Total(trials=20, amount=_of(20, cores=4))
    assert most(made) == Total(trials=49, amount=_of(49, cores=4))
    assert least(plan()) == Total(trials=1 + 4, amount=None), "without durations"


def test_trials_side_by_side_take_less_time_and_as_many_core_hours() -> None:
    low = least(thirteen(num_cores=1, check_isolated=0))
    assert low.amount == Amount(time_s=(4 + 7) * 10.0, core_s=20 * 10.0)


def test_the_interference_check_and_what_it_trains_again_count() -> None:
    low, high = least(thirteen(num_cores=1)), most(thirteen(num_cores=1))
    assert low.trials == 13 + 12 + 7
    # 3 background trials to each of the 12, and the 8 trained before it once more
    assert high.trials == 13 + 12 + 12 * 3 + 8 + 8 + 28


def test_a_search_without_an_end_has_no_most() -> None:
    class Endless(Staged):
        def planned(self, problem: object) -> list:  # type: ignore[type-arg, override]
            stages = super().planned(problem)  # type: ignore[arg-type]
            return [type(stage)(name=stage.name, least=stage.least, most=None) for stage in stages]

    made = thirteen(search=Endless())
    assert most(made) is None


def test_short_trials_take_their_share() -> None:
    made = thirteen(search=Staged(), confirm=0, max_repeats=1)
    low = least(made)
    assert low.trials == 3
    assert low.amount.time_s == pytest.approx(2 * 0.5 + 10.0)


def test_a_factored_search_confirms_in_short_runs() -> None:
    class Known(Factored):
        def planned(self, problem: object) -> list:  # type: ignore[type-arg, override]
            return Staged().planned(problem)  # type: ignore[arg-type, return-value]

    made = thirteen(search=Known(probe_steps=96, confirm_steps=384))
    low, high = least(made), most(made)
    # 2 probes and 1 training; 6 runs four times as long as the least probe, and the test run
    assert low.trials == 3 + 7
    assert low.amount.time_s == pytest.approx(2 * 0.5 + 6 * 8.0 + 2 * 10.0)
    # 8 probes, 2 trainings, 27 such runs and the test run
    assert high.trials == 10 + 28
    assert high.amount.time_s == pytest.approx(8 * 0.5 + 27 * 8.0 + (2 + 1) * 10.0)


@pytest.mark.parametrize(("trial_s", "least_s"), [(1.0, 1.0), (10.0, 2.0), (100.0, 5.0)])
def test_a_probe_takes_its_least_seconds_however_short_a_training_is(
    trial_s: float, least_s: float
) -> None:
    space = Config(workers=THIRTEEN, prefetch=2)
    made = plan(space=space, search=Factored(), trial_s={"": trial_s}, confirm=0)
    probes = made.searched[0]
    low = least(made, [probes])
    assert low.amount.time_s == pytest.approx(probes.least * least_s)


def test_trials_that_are_stopped_early_take_less_at_least() -> None:
    stopped = thirteen(stopping=Asha(grace=1, factor=3), epochs=9, confirm=0, max_repeats=1)
    low, high = least(stopped), most(stopped)
    assert low.amount.time_s == pytest.approx(130 * (1 + 2 / 3 + 6 / 9) / 9)
    assert high.amount.time_s == 130


def test_rows_are_those_of_the_search_and_the_least_to_confirm() -> None:
    assert num_rows(thirteen()) == 13 + 7
    ranks = plan(space=Config(ranks=choice(1, 2)), confirm=0)
    assert num_rows(ranks) == 2, "one cannot run, and has a row"
    assert num_rows(thirteen(search=Staged())) == 8 + 2 + 7


# -- budgets


def test_a_budget_must_have_room_for_the_least_that_gives_an_answer() -> None:
    made = thirteen()
    require_room(made, Budgets(time_s=90.0))
    with pytest.raises(SweepError, match=r"time budget of 89 s is below the least .* for two"):
        require_room(made, Budgets(time_s=89.0))
    require_room(thirteen(confirm=0), Budgets(time_s=20.0))
    require_room(plan(), Budgets(time_s=1.0))
    with pytest.raises(SweepError, match="for the least of the search and the confirm stage"):
        require_room(thirteen(search=Staged()), Budgets(time_s=80.0))
    require_room(thirteen(search=Staged()), Budgets(time_s=81.0))

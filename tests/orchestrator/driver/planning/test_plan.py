"""The plan: what would run, what was left out and why, how long it may take."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.constraints import requires
from orchestrator.driver.planning.plan import make_plan
from orchestrator.driver.planning.text import plan_lines
from orchestrator.driver.planning.totals import least, most
from orchestrator.errors import SweepFileError
from orchestrator.kernel.search import Proposal, SearchSpec
from orchestrator.search import Grid, Optuna, Random
from orchestrator.space.domains import choice, integers, uniform
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Isolation
from tests.orchestrator.driver.plans import (
    CPU,
    GPUS,
    TRAINABLE,
    WIDE,
    Config,
    earlier_run,
    plan,
    sweep,
)


def test_the_counts_are_what_the_search_asks_for() -> None:
    for search in (Grid(), Random(9), Grid(trials=7)):
        asked = sweep(**WIDE, search=search)
        running = search.start(search_problem(asked, CPU))
        proposals = list(iter(running.ask, None))
        runs = [p for p in proposals if isinstance(p, Proposal) and not _infeasible(p.config)]

        assert make_plan(asked, CPU, num_cores=4).num_train == len(runs)


def _infeasible(config: Mapping[str, Any]) -> bool:
    return TRAINABLE.infeasible(Config(**config), CPU) is not None


def test_gpus_decide_the_capacity() -> None:
    space = Config(ranks=choice(1, 2))

    assert plan(GPUS, num_cores=4, space=space).capacity == (1, 2)
    assert plan(GPUS, num_cores=4, space=Config(ranks=choice(1, 4))).capacity == (2, 2)


def test_isolation_and_max_concurrent_limit_the_capacity() -> None:
    assert plan(num_cores=1).capacity == (4, 4)
    assert plan(num_cores=1, isolation=Isolation.EXCLUSIVE).capacity == (1, 1)
    assert make_plan(sweep(), CPU, num_cores=1, max_concurrent=3).capacity == (3, 3)
    assert make_plan(sweep(), CPU, num_cores=2, max_concurrent=3).capacity == (2, 2)


def test_a_search_that_chooses_as_it_goes_is_planned_as_a_limit() -> None:
    adaptive = plan(search=Optuna(20), **{**WIDE, "repeats": 1})
    text = "\n".join(plan_lines(adaptive))

    assert adaptive.num_train == 26 - 21, "more are not in the space, and none is tried twice"
    assert "up to 5 trials of 20 configs: Optuna chooses as results come" in text
    assert "of 30 configs of the space:" in text
    assert "cannot run here: 21 configs, not run if chosen" in text


def test_a_search_is_planned_no_larger_than_its_space() -> None:
    small = plan(space=Config(lr=choice(0.1, 0.2, 0.3)), search=Optuna(30))
    assert (small.num_train, least(small).trials) == (3, 3 + 7)
    assert "fewer than the 30 asked for: the space has no more" in "\n".join(plan_lines(small))
    counted = plan(space=Config(workers=integers(0, 3), prefetch=2), search=Optuna(30))
    assert counted.num_train == 4, "each whole number, not the ends of the interval"
    endless = plan(space=Config(lr=uniform(0.1, 0.2)), search=Optuna(30))
    assert endless.num_train == 30
    assert "the middle of each interval" not in "\n".join(plan_lines(counted))


@pytest.mark.parametrize("search", [Grid(), Random(5), Optuna(5)])
def test_a_sole_config_has_nothing_to_be_compared_with(search: SearchSpec) -> None:
    sole = plan(num_cores=1, search=search)
    high = most(sole)
    assert high is not None
    assert (least(sole).trials, high.trials) == (1 + 4, 1 + 4)
    text = "\n".join(plan_lines(sole))
    assert "confirm     4 trials: the one config, 3 runs, isolated; then what is" in text
    assert not {"check ", "repeats "} & {line[:8] for line in text.splitlines()}


def test_a_space_too_large_to_go_through_is_planned_without() -> None:
    space = Config(workers=choice(*range(2000)), prefetch=choice(*range(1, 1000)))
    text = "\n".join(plan_lines(plan(space=space, search=Optuna(20))))

    assert "up to 20 trials of 20 configs: Optuna chooses" in text
    assert "of the space" not in text
    with pytest.raises(SweepFileError, match="1,998,000 combinations"):
        plan(space=space)


# -- expected time


def told(runs: Path, **changes: object) -> list[str]:
    """Return the last lines of a plan: the time of a trial, and the totals."""
    asked = sweep(space=Config(workers=choice(0, 2)), epochs=3, **changes)
    earlier = sorted(runs.glob("*"))
    return plan_lines(make_plan(asked, CPU, num_cores=4, runs=earlier, data="digits"))[-2:]


def test_the_expected_time_comes_from_earlier_trials(tmp_path: Path) -> None:
    earlier_run(tmp_path, "a", {"20.0": "completed", "30.0": "completed", "999.0": "failed"})
    earlier_run(tmp_path, "b", {"40.0": "completed", "": "not_run"})

    assert told(tmp_path) == [
        "time        30 s a trial (median of 3 earlier trials)",
        # 2 to train and 7 to confirm, one at a time; up to 2 x 2 repeats and 27 to confirm
        "in all      9 to 33 trials, about 4 min to 16 min, 0.3 to 1.1 core-hours",
    ]


def test_until_there_are_earlier_trials_the_sweep_file_tells_the_time(tmp_path: Path) -> None:
    stated = {"digits": 10.0, "mnist": 99.0}
    assert told(tmp_path, trial_s=stated) == [
        "time        10 s a trial (as the sweep file has it; there is no earlier run like this "
        "one)",
        "in all      9 to 33 trials, about 90 s to 6 min, 0.1 to 0.37 core-hours",
    ]
    assert "unknown" in told(tmp_path, trial_s={"mnist": 99.0})[0]
    earlier_run(tmp_path, "a", {"20.0": "completed"})
    assert "about 3 min to" in told(tmp_path, trial_s=stated)[1]


# -- speed


def few_processes(config: Config) -> bool:
    return config.workers * config.ranks < 40


def large_sweep() -> Sweep[Config]:
    """100,000 combinations."""
    return sweep(
        space=Config(
            workers=choice(*range(10)), prefetch=choice(*range(1, 11)), ranks=choice(*range(1, 6)),
            amp=choice("off", "fp16"), lr=choice(*[i / 100 for i in range(1, 101)]),
        ),
        constraints=[requires(few_processes, "too many processes")],
    )  # fmt: skip


def test_100_000_configs_are_planned_within_3_seconds() -> None:
    large = large_sweep()
    began = time.process_time()
    made = make_plan(large, CPU, num_cores=4)
    text = plan_lines(made)
    spent_s = time.process_time() - began

    assert made.candidates is not None
    assert made.candidates.num_combinations == 100_000
    assert len(text) > 10
    assert spent_s < 3


def test_planning_needs_neither_ray_nor_torch_nor_tables(repository: Path) -> None:
    code = (
        "import sys; from tests.orchestrator.driver.plans import plan, WIDE; "
        "from orchestrator.driver.planning.text import plan_lines; "
        "plan_lines(plan(**WIDE)); "
        "print([m for m in ('ray', 'torch', 'mlflow', 'optuna', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=repository
    )

    assert done.stdout == "[]\n"

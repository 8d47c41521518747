"""The plan: what would run, what is left out and why; it counts what a run makes."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import parse
from orchestrator.driver.assembly import make_search
from orchestrator.driver.phases import capacity_of
from orchestrator.driver.planning.plan import earlier_s, least, make_plan, most, planned
from orchestrator.driver.planning.text import plan_lines
from orchestrator.driver.request import Request, read_request
from orchestrator.errors import SweepFileError
from orchestrator.kernel.search import SearchSpec
from orchestrator.machine import requires
from orchestrator.search import Grid, Optuna, Random
from orchestrator.search.stages.judge import Config as Values
from orchestrator.search.stages.judge import Judge, Results
from orchestrator.space.domains import choice, integers, uniform
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Budget, Isolation, Trial, TrialResult, TrialState
from tests.helping import python
from tests.orchestrator.driver.plans import (
    CPU,
    EARLIER,
    GPUS,
    TRAINABLE,
    WIDE,
    Config,
    earlier_run,
    made_factory,
    plan,
    sweep,
)
from tests.orchestrator.search.playing import completed, play

# -- the plan and the run share the counting


class Undecided(Judge):
    """Names as many configs as it may, and never decides."""

    def finalists(self, results: Results, *, most: int) -> Sequence[Values]:
        return self._fastest(results)[:most]

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Values]:
        fastest = self._fastest(results)[:4]
        return fastest if len(fastest) > 1 else []

    def is_decided(self, results: Results) -> bool:
        return False

    def recommended(self, results: Results) -> Values | None:
        return self._fastest(results)[0]

    def _fastest(self, results: Results) -> Sequence[Values]:
        speeds = {
            tuple(trial.config.items()): result.metrics["samples_per_s"]
            for trial, result in results
            if result.state is TrialState.COMPLETED
        }
        return [dict(config) for config in sorted(speeds, key=lambda key: -speeds[key])]


class Sure(Undecided):
    """Names one config, and has decided."""

    def finalists(self, results: Results, *, most: int) -> Sequence[Values]:
        return self._fastest(results)[:1]

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Values]:
        return []

    def is_decided(self, results: Results) -> bool:
        return True


def _answer(trial: Trial) -> TrialResult:
    if TRAINABLE.infeasible(Config(**trial.config), CPU) is not None:
        return TrialResult(state=TrialState.INFEASIBLE)
    return completed(samples_per_s=1.0 + trial.config["workers"], val_acc=0.5)


@pytest.mark.parametrize(
    "changes",
    [
        {**WIDE, "search": Grid()},
        {**WIDE, "search": Random(9)},
        {**WIDE, "search": Grid(trials=7), "finalists": 3},
        {"space": Config(workers=choice(*range(8))), "confirm": 0},
        {"space": Config(workers=choice(*range(8))), "max_repeats": 1, "check_isolated": 0},
        {"space": Config()},
    ],
)
def test_a_run_makes_no_more_and_no_fewer_trials_than_planned(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    asked = sweep(**changes)
    made = make_plan(asked, CPU, num_cores=4)
    factory = made_factory(
        tmp_path, asked, CPU, num_cores=4, capacity=capacity_of(asked, CPU, 4, 1)
    )
    for judge, total in ((Sure(), least(made)), (Undecided(), most(made))):
        ran = [
            trial
            for trial in play(make_search(factory, judge), _answer).trials
            if TRAINABLE.infeasible(Config(**trial.config), CPU) is None
        ]
        assert len(ran) == total.trials


# -- what is known beforehand


def test_isolation_and_max_concurrent_limit_the_capacity() -> None:
    assert plan(num_cores=1).capacity == 4
    assert plan(GPUS, num_cores=1, isolation=Isolation.EXCLUSIVE).capacity == 2
    assert make_plan(sweep(), CPU, num_cores=1, max_concurrent=3).capacity == 3


def test_a_search_that_chooses_as_it_goes_is_planned_as_a_limit() -> None:
    adaptive = plan(search=Optuna(20), **{**WIDE, "repeats": 1})
    text = "\n".join(plan_lines(adaptive))
    assert adaptive.searched[0].most == 26 - 21, (
        "more are not in the space, and none is tried twice"
    )
    assert "up to 5 trials of 20 configs: Optuna chooses as results come" in text
    assert "of 30 configs of the space:" in text
    assert "cannot run here: 21 configs, not run if chosen" in text


def test_a_search_is_planned_no_larger_than_its_space() -> None:
    small = plan(space=Config(lr=choice(0.1, 0.2, 0.3)), search=Optuna(30))
    assert (small.searched[0].most, least(small).trials) == (3, 3 + 7)
    assert "fewer than the 30 asked for: the space has no more" in "\n".join(plan_lines(small))
    counted = plan(space=Config(workers=integers(0, 3), prefetch=2), search=Optuna(30))
    assert counted.searched[0].most == 4, "each whole number, not the ends of the interval"
    endless = plan(space=Config(lr=uniform(0.1, 0.2)), search=Optuna(30))
    assert endless.searched[0].most == 30


@pytest.mark.parametrize("search", [Grid(), Random(5), Optuna(5)])
def test_a_sole_config_has_nothing_to_be_compared_with(search: SearchSpec) -> None:
    sole = plan(num_cores=1, search=search)
    high = most(sole)
    assert (least(sole).trials, high.trials) == (1 + 4, 1 + 4)
    text = "\n".join(plan_lines(sole))
    assert "confirm     3 trials, isolated: " in text
    assert not {"check ", "repeats "} & {line[:8] for line in text.splitlines()}


def test_a_space_too_large_to_go_through_is_planned_without() -> None:
    space = Config(workers=choice(*range(2000)), prefetch=choice(*range(1, 1000)))
    text = "\n".join(plan_lines(plan(space=space, search=Optuna(20))))
    assert "up to 20 trials of 20 configs: Optuna chooses" in text
    assert "of the space" not in text
    with pytest.raises(SweepFileError, match="1,998,000 combinations"):
        plan(space=space)


# -- of a request


def request_of(*arguments: str) -> Request:
    return read_request(parse([*arguments, "--cores-per-trial", "1", "--no-mlflow"]))


@pytest.mark.usefixtures("folder")
def test_a_request_is_planned_by_its_executor_and_its_extension() -> None:
    assert planned(request_of("never.py"), CPU, "").capacity == 4
    assert planned(request_of("never.py", "--max-concurrent", "3"), CPU, "").capacity == 3
    assert planned(request_of("never.py", "--executor", "inline"), CPU, "").capacity == 1
    request = request_of("never.py", "--search", "random", "--trials", "1")
    assert planned(request, CPU, "").max_configs == 1
    assert planned(request, CPU, "", 2).max_configs == 2


# -- durations of earlier trials


def test_the_trials_that_count_are_completed_whole_trainings(tmp_path: Path) -> None:
    probe = Budget(epochs=3, steps=9)
    earlier_run(tmp_path / "a", [20.0, 30.0], after_s=2.0)
    earlier_run(tmp_path / "b", [999.0], state=TrialState.FAILED)
    earlier_run(tmp_path / "c", [1.0], trial_budget=probe)
    runs = sorted(tmp_path.glob("*"))
    assert [s for run in runs for s in earlier_s(run, EARLIER)] == [22.0, 32.0], "ceilings too"


@pytest.mark.parametrize(
    "other",
    [{"budget": Budget(epochs=5)}, {"cores_per_trial": 2}, {"data": "mnist"}, {"fixed": {}},
     {"replayed": "runs/a"}],
    ids=str,
)  # fmt: skip
def test_runs_of_another_kind_do_not_count(tmp_path: Path, other: dict[str, Any]) -> None:
    earlier_run(tmp_path / "other", [20.0], **other)
    assert list(earlier_s(tmp_path / "other", EARLIER)) == []


def test_runs_that_cannot_be_read_do_not_hide_those_that_can(tmp_path: Path) -> None:
    broken = ("sweep.json", "journal.jsonl")
    for name, files in (("unfinished", broken[1:]), ("broken", broken)):
        earlier_run(tmp_path / name, [20.0])
        for file in files:
            (tmp_path / name / file).write_text("{\n")
        assert list(earlier_s(tmp_path / name, EARLIER)) == []
    assert list(earlier_s(tmp_path / "missing", EARLIER)) == []


# -- speed


def large_sweep() -> Sweep[Config]:
    """100,000 combinations."""
    few: Mapping[str, Any] = {
        "constraints": [requires(lambda c: c.workers * c.ranks < 40, "too many processes")]
    }
    return sweep(
        space=Config(
            workers=choice(*range(10)), prefetch=choice(*range(1, 11)), ranks=choice(*range(1, 6)),
            amp=choice("off", "fp16"), lr=choice(*[i / 100 for i in range(1, 101)]),
        ),
        **few,
    )  # fmt: skip


def test_100_000_configs_are_planned_within_3_seconds() -> None:
    large = large_sweep()
    began = time.process_time()
    made = make_plan(large, CPU, num_cores=4)
    text = plan_lines(made)
    spent_s = time.process_time() - began
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
    done = python("-c", code, cwd=repository)
    assert done.stdout == "[]\n"

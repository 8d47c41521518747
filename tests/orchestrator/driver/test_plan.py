"""The plan: what would run, what was left out and why, how long it may take."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from orchestrator.constraints import requires
from orchestrator.driver.plan import Plan, make_plan
from orchestrator.driver.plan_text import plan_lines
from orchestrator.errors import SweepFileError
from orchestrator.machine import Machine, Node
from orchestrator.metrics import maximize
from orchestrator.search import Grid, Optuna, Random
from orchestrator.search.base import Proposal
from orchestrator.space.declare import both, knobs, learning, systems
from orchestrator.space.domains import choice, loguniform
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trainable import Demand, Trainable
from orchestrator.trial import Budget, Isolation
from tests.orchestrator.tracking.journals import make_record

CPU = Machine(nodes=(Node(name="cpu", cpus=4),))
GPUS = Machine(nodes=(Node(name="gpu", cpus=8, gpus=2), Node(name="cpu", cpus=4)))


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch: int = systems(
        default=2, ge=1, unit="batches", doc="ahead", applies=lambda c: c.workers > 0
    )
    ranks: int = both(default=1, ge=1, doc="processes")
    amp: Literal["off", "fp16"] = both(default="off", doc="precision")


def train(config: Config, run: object) -> None:
    """Is never called."""


def fp16_needs_cuda(config: Config, machine: Machine) -> str | None:
    return "fp16 needs a GPU" if config.amp == "fp16" and not machine.has_cuda else None


TRAINABLE = Trainable(
    train,
    Config,
    reports=[maximize("val_acc")],
    constraints=[fp16_needs_cuda],
    demand=lambda config, machine: Demand(ranks=config.ranks, gpus=_gpus(config, machine)),
    name="tiny",
)


def _gpus(config: Config, machine: Machine) -> int:
    return config.ranks if config.ranks > 1 or machine.has_cuda else 0


def sweep(**changes: object) -> Sweep[Config]:
    told: dict[str, Any] = {"question": "How many?", "space": Config(), **changes}
    return Sweep(TRAINABLE, **told)


def plan(machine: Machine = CPU, num_cores: int = 4, **changes: object) -> Plan:
    return make_plan(sweep(**changes), machine, num_cores=num_cores)


WIDE: Mapping[str, Any] = {
    "space": Config(
        workers=choice(0, 2, 4), prefetch=choice(2, 4), ranks=choice(1, 2, 4),
        amp=choice("off", "fp16"),
    ),
    "constraints": [requires(lambda c: c.workers * c.ranks < 16, "too many processes")],
    "repeats": 2,
    "epochs": 3,
    "steps": 1000,
}  # fmt: skip


def test_the_plan_says_all_of_it() -> None:
    assert plan_lines(plan(**WIDE)) == [
        "sweep       How many?",
        "            tiny, 3 epochs a trial, at most 1,000 steps",
        "varied      workers: choice(0, 2, 4) [systems]",
        "            prefetch: choice(2, 4) batches [systems]",
        "            ranks: choice(1, 2, 4) [both]",
        "            amp: choice('off', 'fp16') [both]",
        # 36 combinations; 6 of the 12 without workers are merged; 4 of 4 workers x 4 ranks left out
        "train       10 trials: 26 configs, 2 runs each",
        "            merged as the same: 6 of 36 combinations, where it has no effect: "
        "prefetch=4 as prefetch=2",
        "            excluded by the sweep's constraints: 4 configs",
        "            cannot run here: 21 configs, one row each, not run",
        "                 10  needs 2 GPUs, the largest node has 0 "
        "(as workers=0 prefetch=2 ranks=2 amp=off)",
        "                  6  needs 4 GPUs, the largest node has 0 "
        "(as workers=0 prefetch=2 ranks=4 amp=off)",
        "                  5  fp16 needs a GPU (as workers=0 prefetch=2 ranks=1 amp=fp16)",
        "repeats     up to 4 more: the best config and up to 3 that are not told from it, until "
        "each has 3 runs",
        "confirm     7 trials: the selected config and the baseline, 3 runs each, "
        "interleaved on the same cores where possible and isolated; then what is "
        "recommended, once, with the test split",
        "            up to 40: up to 1 contender of the selected config, and up to 13 runs each "
        "while they do not decide",
        "cores       4 a trial; 1 node of 4 cores, no GPU",
        "            1 at once, leased",
        "time        unknown until the first trial has run: no earlier run of this sweep on "
        "this data with this budget, these fixed knobs and cores",
    ]


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
    text = "\n".join(plan_lines(plan(GPUS, num_cores=4, space=space)))
    assert "4 a trial; 2 nodes of 8 cores, 2 GPUs" in text
    assert "1 to 2, after the GPUs they ask for, at once, leased" in text


def test_isolation_and_max_concurrent_limit_the_capacity() -> None:
    assert plan(num_cores=1).capacity == (4, 4)
    assert plan(num_cores=1, isolation=Isolation.EXCLUSIVE).capacity == (1, 1)
    assert make_plan(sweep(), CPU, num_cores=1, max_concurrent=3).capacity == (3, 3)
    assert make_plan(sweep(), CPU, num_cores=2, max_concurrent=3).capacity == (2, 2)


def test_a_search_that_chooses_as_it_goes_is_planned_as_a_limit() -> None:
    adaptive = plan(search=Optuna(20), **{**WIDE, "repeats": 1})
    text = "\n".join(plan_lines(adaptive))

    assert adaptive.num_train == 20
    assert "up to 20 trials of 20 configs: Optuna chooses as results come" in text
    assert "of 30 configs of the space (the middle of each interval taken):" in text
    assert "cannot run here: 21 configs, not run if chosen" in text


def test_a_space_too_large_to_go_through_is_planned_without() -> None:
    space = Config(workers=choice(*range(2000)), prefetch=choice(*range(1, 1000)))
    text = "\n".join(plan_lines(plan(space=space, search=Optuna(20))))

    assert "up to 20 trials of 20 configs: Optuna chooses" in text
    assert "of the space" not in text
    with pytest.raises(SweepFileError, match="1,998,000 combinations"):
        plan(space=space)


def test_a_space_with_fewer_configs_than_asked_for_says_so() -> None:
    space = Config(workers=choice(0, 2), prefetch=choice(2, 4))
    for search in (Random(30), Grid(trials=30)):
        text = "\n".join(plan_lines(plan(space=space, search=search)))

        assert "3 trials: 3 configs" in text
        assert "fewer than the 30 asked for: the space has no more" in text


def test_draws_are_called_draws() -> None:
    text = "\n".join(plan_lines(plan(**{**WIDE, "search": Random(20)})))

    assert "40 trials" not in text
    assert re.search(r"merged as the same: \d+ of \d\d draws", text)


def test_nothing_that_varies_is_a_plan_too() -> None:
    text = "\n".join(plan_lines(plan(space=Config(), confirm=0)))

    assert "nothing: one config and the baseline" in text
    assert "1 trial: 1 config" in text
    assert "confirm     no trials, so no speed-up will be claimed" in text


def test_a_baseline_outside_the_grid_is_added() -> None:
    text = "\n".join(
        plan_lines(plan(space=Config(lr=loguniform(0.01, 1)), baseline=Config(lr=5.0)))
    )

    assert "4 trials: 4 configs, the baseline added" in text


# -- expected time


def earlier_run(
    runs: Path,
    name: str,
    walls: Mapping[str, str],
    epochs: int = 3,
    cores: int = 4,
    data: str = "digits",
    between_s: float = 0.0,
    **fixed: object,
) -> None:
    """Write a finished run: its trials, state by wall time, one after the other."""
    run = runs / name
    run.mkdir(parents=True)
    values = {"lr": 0.1, "prefetch": 2, "ranks": 1, "amp": "off", **fixed}
    record = make_record(budget=Budget(epochs=epochs), data=data, fixed=values)
    (run / "sweep.json").write_text(json.dumps(record.to_json()))
    with (run / "trials.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["trial_id", "stage", "state", "cores", "started_at", "wall_s"])
        at = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
        for wall, state in walls.items():
            rows.writerow(["abc", "train", state, str(cores), str(at) if wall else "", wall])
            at += timedelta(seconds=float(wall or 0) + between_s)


def expected(runs: Path, **changes: object) -> tuple[float | None, str]:
    asked = sweep(space=Config(workers=choice(0, 2)), epochs=3, **changes)
    made = make_plan(asked, CPU, num_cores=4, runs=runs, data="digits")
    return made.expected_s, plan_lines(made)[-1]


def test_the_expected_time_comes_from_earlier_trials(tmp_path: Path) -> None:
    earlier_run(tmp_path, "a", {"20.0": "completed", "30.0": "completed", "999.0": "failed"})
    earlier_run(tmp_path, "b", {"40.0": "completed", "": "not_run"})

    # 2 to train and 7 to confirm, one at a time
    assert expected(tmp_path) == (
        9 * 30.0,
        # up to 2 x 2 repeats and 40 to confirm
        "time        about 4 min, at most 23 min with what may be added: 30 s a trial "
        "(median of 3 earlier trials)",
    )


def test_the_time_between_trials_counts(tmp_path: Path) -> None:
    walls = {"20.0": "completed", "20.5": "completed", "21.0": "completed"}
    earlier_run(tmp_path, "a", walls, between_s=2.0)
    assert expected(tmp_path)[0] == 9 * 22.0  # the last one has no other after it


def test_until_there_are_earlier_trials_the_sweep_file_tells_the_time(tmp_path: Path) -> None:
    stated = {"digits": 10.0, "mnist": 99.0}
    assert expected(tmp_path, trial_s=stated) == (
        9 * 10.0,
        "time        about 90 s, at most 8 min with what may be added: 10 s a trial "
        "(as the sweep file has it; there is no earlier run like this one)",
    )
    assert expected(tmp_path, trial_s={"mnist": 99.0})[0] is None
    earlier_run(tmp_path, "a", {"20.0": "completed"})
    assert expected(tmp_path, trial_s=stated)[0] == 9 * 20.0


def test_trials_of_another_kind_tell_nothing(tmp_path: Path) -> None:
    earlier_run(tmp_path, "epochs", {"20.0": "completed"}, epochs=5)
    earlier_run(tmp_path, "cores", {"20.0": "completed"}, cores=2)
    earlier_run(tmp_path, "data", {"20.0": "completed"}, data="mnist")
    earlier_run(tmp_path, "fixed", {"20.0": "completed"}, amp="fp16")
    earlier_run(tmp_path, "varied", {"20.0": "completed"}, workers=0)
    earlier_run(tmp_path, "unfinished", {"20.0": "completed"})
    (tmp_path / "unfinished" / "trials.csv").unlink()
    earlier_run(tmp_path, "broken", {"20.0": "completed"})
    (tmp_path / "broken" / "sweep.json").write_text("{")
    (tmp_path / "mlflow.db").write_text("")

    found, line = expected(tmp_path)
    assert found is None
    assert "unknown until the first trial has run" in line
    assert expected(tmp_path / "nowhere")[0] is None


def test_the_columns_that_are_read_are_those_of_the_tables() -> None:
    from orchestrator.storage.tables import trial_dtypes

    columns = list(trial_dtypes({}, ()))
    assert {"stage", "state", "cores", "wall_s"} <= set(columns)


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
        "import sys; from tests.orchestrator.driver.test_plan import plan, plan_lines, WIDE; "
        "plan_lines(plan(**WIDE)); "
        "print([m for m in ('ray', 'torch', 'mlflow', 'optuna', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=repository
    )

    assert done.stdout == "[]\n"

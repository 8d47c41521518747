"""The memory that configs ran out of."""

from __future__ import annotations

import pytest

from orchestrator.analysis.report.sections.infeasible import (
    DEVICE,
    HOST,
    infeasible_for_memory,
    walls_of,
)
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import page_of, text_of, view_of_run

OWN = "9.40 GiB of its own, above the trial's limit of 8.00 GiB (what the sweep gives a trial)"
KILLED = "the kernel killed the training process at 7.7 GiB"
OF_GPU = (
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity "
    "of 79.19 GiB of which 1.00 GiB is free"
)


def run_with(*reasons: str) -> MadeRun:
    """Two configs that complete, and one for each reason that runs out, of ever larger batches."""
    run = MadeRun()
    run.add(config())
    run.add(config(batch_size=2000))
    for number, reason in enumerate(reasons):
        state = "infeasible"
        run.add(config(batch_size=8000 * 2**number), state=state, reason=f"out of memory {reason}")
    return run


def test_the_wall_is_drawn_where_configs_ran_into_it() -> None:
    run = run_with(f"at step 3: {OWN}", f": {KILLED}")
    (wall,) = walls_of(view_of_run(run)).figures
    completed, ended = wall.figure.data
    assert list(completed.x) == [1000, 2000]
    assert (list(ended.x), list(ended.y)) == ([8000, 16000], [9.4, 7.7])
    (limit,) = wall.figure.layout.shapes
    assert limit.y0 == limit.y1 == 8.0
    assert wall.table["state"].tolist() == ["completed"] * 2 + ["infeasible"] * 2
    assert "The memory wall" in text_of(page_of(run))


def test_memory_of_a_gpu_has_a_wall_of_its_own() -> None:
    run = run_with(f"at step 1, 2.00 GiB asked for: {OF_GPU}")
    for number, row in enumerate(run.rows[:2]):
        row[DEVICE] = 20.0 + 10 * number
    view = view_of_run(run)
    assert infeasible_for_memory(view)["limit_gib"].tolist() == [79.19]
    (wall,) = walls_of(view).figures
    assert wall.name == "memory-wall-gpu"
    assert list(wall.figure.data[1].y) == [79.19]
    assert "1 cross at the limit: what it had is not known" in wall.caption


def test_a_config_of_which_no_memory_is_known_is_counted_only() -> None:
    run = run_with(f"at step 3: {OWN}", "at step 1: RuntimeError: can't allocate memory")
    (wall,) = walls_of(view_of_run(run)).figures
    assert list(wall.figure.data[1].x) == [8000]
    assert "1 more config ran out; what it had is not known" in wall.caption


def test_memory_is_drawn_over_the_knob_that_tells_it_best_where_batches_are_equal() -> None:
    run = MadeRun()
    for workers in (0, 2, 4):
        run.add(config(num_workers=workers, threads=workers % 3))
    run.add(config(num_workers=8), state="infeasible", reason=f"out of memory at step 1: {OWN}")
    (wall,) = walls_of(view_of_run(run)).figures
    assert wall.figure.layout.xaxis.title.text == "num_workers"


def test_memory_that_is_the_same_of_all_is_drawn_too() -> None:
    run = MadeRun()
    run.add(config())[HOST] = 7.7
    run.add(config(num_workers=8), state="infeasible", reason=f"out of memory : {KILLED}")
    (wall,) = walls_of(view_of_run(run)).figures
    assert wall.figure.layout.xaxis.title.text == "num_workers"


def test_where_no_config_ran_out_there_is_no_wall(view: View) -> None:
    assert walls_of(view).figures == ()


@pytest.mark.parametrize("state", ["infeasible", "failed"])
def test_without_completed_configs_there_is_no_picture(state: str) -> None:
    run = MadeRun()
    run.add(config(), state=state, reason=f"out of memory at step 1: {OWN}")
    assert walls_of(view_of_run(run)).figures == ()

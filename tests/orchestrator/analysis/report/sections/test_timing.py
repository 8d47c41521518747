"""Time by its parts: steps, ceilings and gains, and the time to an accuracy."""

import math
import re

import numpy as np
import pytest

from orchestrator.analysis.report.sections.timing import (
    MAX_ROWS,
    ceilings_of,
    gain_text,
    phase_times,
    steps_of,
    times_of,
)
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import SPEED
from orchestrator.analysis.statistics.by_config import COMPUTE, LOADER, Gain
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run

LOADER_S, MODEL_S, CORES = 4e-4, 1e-4, 4


@pytest.fixture(scope="module")
def bounded() -> View:
    """Three runs of one worker and of two, limited by their loaders."""
    run, rng = MadeRun(), np.random.default_rng(0)
    for workers in (1, 2):
        for repeat in range(3):
            speed = workers / LOADER_S * math.exp(0.01 * rng.standard_normal())
            cells = {SPEED: speed, LOADER: workers / LOADER_S, COMPUTE: 1 / MODEL_S}
            cells |= {"metrics.cpu_util": (LOADER_S + MODEL_S) * speed / CORES}
            run.add(config(num_workers=workers), repeat=repeat, **cells)
    return view_of_run(run)


def test_each_config_has_its_ceilings_and_its_gain_with_an_interval(bounded: View) -> None:
    table = ceilings_of(bounded).table
    column = table.head.index("num_workers")
    gains = {row[column].text: row[-1].text for row in table.rows}
    assert set(gains) == {"1", "2"}
    text = r"{}x \([1-4]\.\d\dx to [24]\.\d\dx\) if the loader were free"
    assert re.fullmatch(text.format(r"(3\.9|4\.0)\d"), gains["1"])
    assert re.fullmatch(text.format(r"(1\.9|2\.0)\d"), gains["2"])


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (Gain(part="the loader", ratio=4.12, low=3.94, high=4.31),
         "4.12x (3.94x to 4.31x) if the loader were free"),
        (Gain(part="the loader", ratio=1.2, low=0.9, high=1.6),
         "not known: its runs' ceilings differ too much"),
        (Gain(part="the loader", ratio=1.08, low=0.95, high=1.2),
         "not known: its runs' ceilings differ too much"),
        (Gain(part="the model", ratio=1421.3, low=1188.8, high=1698.4),
         "over 10x if the model were free: it takes nearly all of the time"),
        (Gain(part="the loader", ratio=1.01, low=0.98, high=1.04), "next to nothing"),
        (Gain(part="the loader", ratio=1.04), "next to nothing"),
        (Gain(part="the loader", ratio=1076.0), "not known: no config ran twice"),
    ],
)  # fmt: skip
def test_a_gain_in_words(gain: Gain, text: str) -> None:
    assert gain_text(gain) == text


def test_phases_add_up_to_the_time_of_as_many_samples(view: View) -> None:
    rows = view.trials[view.trials["state"] == "completed"]
    parts = phase_times(rows)
    assert parts.sum(axis=1).tolist() == pytest.approx(
        (1e6 / rows["metrics.samples_per_s"]).tolist(), rel=1e-6
    )


def test_the_recommended_config_and_the_baseline_are_among_the_bars(view: View) -> None:
    (drawn,) = steps_of(view).figures
    names = list(drawn.figure.data[0].y)
    assert len(names) == len(drawn.table) == MAX_ROWS
    assert sum(name.startswith("recommended: ") for name in names) == 1
    assert sum(name.startswith("baseline: ") for name in names) == 1
    assert drawn.caption.endswith("8 other configs are not drawn.")
    waits = next(trace for trace in drawn.figure.data if trace.name == "wait")
    assert drawn.table["wait_ms_per_1000_samples"].tolist() == pytest.approx(
        list(waits.x), rel=1e-5
    )


def test_the_table_names_the_accuracy_and_counts_the_runs(view: View) -> None:
    times = times_of(view)
    assert times.title.startswith("time to val_acc 9")
    column = times.table.head.index("runs there")
    assert {row[column].text for row in times.table.rows} <= {"0 of 1", "1 of 1"}
    assert sum(mark == "recommended" for mark in times.table.marks) == 1


def test_the_soonest_are_shown_and_always_the_recommended_and_the_baseline() -> None:
    run = MadeRun()
    run.add(config(lr=1e-4))  # the baseline's knobs but lr: not accurate
    for lr in np.geomspace(2e-3, 5e-3, 22):
        run.add(config(num_workers=3, lr=float(lr)))
    run.add(config())
    times = times_of(view_of_run(run))
    roles = [row[0].text for row in times.table.rows]
    assert {"recommended", "baseline"} <= set(", ".join(roles).split(", "))
    assert (len(roles), times.table.num_left_out) == (MAX_ROWS, 24 - MAX_ROWS)
    column = times.table.head.index("time to it (s)")
    shown = [row[column].number for row in times.table.rows]
    reached = [number for number in shown if number is not None]
    assert reached == sorted(reached)

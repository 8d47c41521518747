"""Ceilings and gains in the report."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from orchestrator.analysis.report.sections.ceilings import ceilings_of, gain_text
from orchestrator.analysis.report.tables import Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.statistics.gains import COMPUTE, LOADER, SPEED, Gain
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


def ceilings_in(view: View) -> Table:
    section = ceilings_of(view)
    assert section is not None
    assert section.table is not None
    return section.table


def test_each_config_has_its_ceilings_and_its_gain_with_an_interval(bounded: View) -> None:
    table = ceilings_in(bounded)
    column = table.head.index("num_workers")
    gains = {row[column].text: row[-1].text for row in table.rows}
    assert set(gains) == {"1", "2"}
    assert re.fullmatch(r"4\.0x \([34]\.\dx to 4\.\dx\) if the loader were free", gains["1"])
    assert re.fullmatch(r"2\.0x \([12]\.\dx to 2\.\dx\) if the loader were free", gains["2"])


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (Gain(part="the loader", ratio=4.12, low=3.94, high=4.31),
         "4.1x (3.9x to 4.3x) if the loader were free"),
        (Gain(part="the model", ratio=1.3, low=1.21, high=1.39),
         "1.30x (1.21x to 1.39x) if the model were free"),
        (Gain(part="the loader", ratio=1.2, low=0.9, high=1.6),
         "not known: its runs' ceilings differ too much"),
        (Gain(part="the loader", ratio=1.08, low=0.95, high=1.2),
         "not known: 0.95x to 1.20x if the loader were free"),
        (Gain(part="the model", ratio=1421.3, low=1188.8, high=1698.4),
         "over 10x if the model were free: it takes nearly all of the time"),
        (Gain(part="the model", ratio=34.0, low=0.02, high=48_271.0),
         "not known: its runs' ceilings differ too much"),
        (Gain(part="the loader", ratio=1.01, low=0.98, high=1.04), "next to nothing"),
        (Gain(part="the loader", ratio=1.04, low=1.03, high=1.06), "next to nothing"),
        (Gain(part="the loader", ratio=1.04), "next to nothing"),
        (Gain(part="the loader", ratio=1076.0), "not known: no config ran twice"),
    ],
)  # fmt: skip
def test_a_gain_in_words(gain: Gain, text: str) -> None:
    assert gain_text(gain) == text

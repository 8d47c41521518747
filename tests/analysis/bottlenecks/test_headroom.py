"""What the ceilings leave to gain is told with its interval over fresh runs."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.bottlenecks.headroom import Gain, gain_text, gains_of
from analysis.recommendation.recommend import recommend
from analysis.report import report_html, view_of
from analysis.statistics.by_config import by_config
from analysis.tables.load import load_curves
from tests.analysis.made_runs import MadeRun, config

SPEED = "metrics.samples_per_s"
LOADER, COMPUTE = "metrics.loader_only_samples_per_s", "metrics.compute_only_samples_per_s"


def run_of(*repeats: int, gain: float, noise: float = 0.02, seed: int = 0) -> MadeRun:
    """Configs with so many runs each; their hosts differ by 20 %, their own ratio by ``noise``."""
    run, rng = MadeRun(), np.random.default_rng(seed)
    for workers, number in enumerate(repeats):
        for repeat in range(number):
            speed = 5000 * math.exp(0.2 * rng.standard_normal())
            cells = {
                SPEED: speed,
                COMPUTE: speed * gain * math.exp(noise * rng.standard_normal()),
                LOADER: speed * 1.001,
            }
            run.add(config(num_workers=workers), repeat=repeat, **cells)
    return run


def gain_of_first(run: MadeRun) -> Gain:
    return gains_of(run.trials, by_config(run.trials))[0]


def test_the_interval_is_of_ratios_within_runs_and_holds_the_truth_19_times_of_20() -> None:
    held, widths = 0, []
    for seed in range(200):
        gain = gain_of_first(run_of(3, 3, gain=4.1, seed=seed))
        assert gain.low is not None
        assert gain.high is not None
        held += gain.low <= 4.1 <= gain.high
        widths.append(gain.high / gain.low)
    assert 183 <= held <= 198
    assert float(np.median(widths)) < 1.10, "the hosts' 20 % are on both sides of a ratio"


def test_a_config_with_one_run_has_the_spread_of_those_with_more() -> None:
    run = run_of(1, 4, gain=4.1)
    gain = gain_of_first(run)
    assert gain.low is not None
    assert gain.low < gain.ratio
    assert gain.ratio == pytest.approx(float((run.trials[COMPUTE] / run.trials[SPEED]).iloc[0]))


def test_where_nothing_was_repeated_there_is_no_interval() -> None:
    gain = gain_of_first(run_of(1, 1, gain=4.1))
    assert gain.low is None
    assert gain.high is None
    assert gain_text(gain).endswith("x if the loader were free")
    assert "(" not in gain_text(gain)


@pytest.mark.parametrize(
    ("gain", "text"),
    [
        (Gain(what="the loader", ratio=4.12, low=3.94, high=4.31),
         "4.1x (3.9x to 4.3x) if the loader were free"),
        (Gain(what="the model", ratio=1.3, low=1.21, high=1.39),
         "1.30x (1.21x to 1.39x) if the model were free"),
        (Gain(what="the loader", ratio=1.2, low=0.9, high=1.6),
         "not clear: 0.90x to 1.60x if the loader were free"),
        (Gain(what="the model", ratio=1421.3, low=1188.8, high=1698.4),
         "1,421x (1,189x to 1,698x) if the model were free"),
        (Gain(what="the model", ratio=30.71, low=27.13, high=34.9),
         "31x (27x to 35x) if the model were free"),
        (Gain(what="the model", ratio=34.0, low=0.02, high=48_271.0),
         "not clear: its runs' ceilings differ too much"),
        (Gain(what="the loader", ratio=1.01, low=0.98, high=1.04), "next to nothing"),
        (Gain(what="the loader", ratio=1.04, low=1.03, high=1.06), "next to nothing"),
        (Gain(what="the loader", ratio=1.04, low=None, high=None), "next to nothing"),
        (Gain(what="the loader", ratio=2.0, low=None, high=None), "2.0x if the loader were free"),
    ],
)  # fmt: skip
def test_what_is_said_of_it(gain: Gain, text: str) -> None:
    assert gain_text(gain) == text


def test_a_disturbed_run_does_not_count_beside_a_clean_one() -> None:
    run = run_of(3, 3, gain=4.1)
    row: dict[str, Any] = run.rows[0]
    row["tags.contaminated"] = "30 % of its cores' time went to other processes"
    row[COMPUTE] *= 10
    gain = gain_of_first(run)
    assert 3.8 < gain.ratio < 4.4


def test_what_gains_more_is_told() -> None:
    run = run_of(2, 2, gain=1.001)
    for row in run.rows:
        row[LOADER] = 3 * row[SPEED]
    assert gain_of_first(run).what == "the model"


def test_the_report_shows_the_interval_beside_each_config(tmp_path: Path) -> None:
    run = run_of(3, 3, gain=4.1)
    path = run.write(tmp_path / "run")
    recommendation = recommend(run.trials, run.sweep)
    page = report_html(view_of(run.trials, load_curves(path), run.sweep, recommendation))
    assert len(re.findall(r"4\.\dx \([34]\.\dx to 4\.\dx\) if the loader were free", page)) == 2

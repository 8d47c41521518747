from __future__ import annotations

import math
import shlex
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.knobs.effects import Verdict
from orchestrator.analysis.knobs.interactions import (
    LOST,
    NESTED,
    NOT_TRIED,
    interactions_in,
    knob_interactions,
)
from tests.orchestrator.analysis.knobs.frames import SPEED, drawn, figures, frame
from tests.orchestrator.analysis.made_runs import KNOBS, MadeRun, config, factored_run, products_run

BLOCK = [{"workers": w, "batch": b} for w in (0, 3) for b in (1, 2)]


def one_at_a_time() -> MadeRun:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1010, 990])
    for change, speed in (({"num_workers": 3}, 1300.0), ({"num_workers": 8}, 1200.0)):
        run.add_runs(config(**change), [speed])
    run.add_runs(config(batch_size=4000), [1400.0])
    return run


def test_a_ratio_of_ratios_by_hand() -> None:
    #           batch 1   batch 2
    # workers 0   100       120      together 300, where 100 * 2 * 1.2 would be 240
    # workers 3   200       300
    table = frame(BLOCK, [100, 120, 200, 300], variance=1e-4, df=6.0)
    (found,) = interactions_in(figures(table)).to_dict("records")
    assert found["effect"] == pytest.approx(300 / 240)
    half = 2.4469119 * math.sqrt(4e-4)
    assert found["low"] == pytest.approx(1.25 * math.exp(-half))
    assert (found["num_blocks"], found["verdict"]) == (1, Verdict.HIGHER)
    assert (found["knob_a"], found["value_a"], found["value_b"]) == ("workers", 3, 2)


def test_of_shares_it_is_a_difference_of_differences() -> None:
    table = frame(BLOCK, [1, 1, 1, 1]).assign(**{"metrics.val_acc": [0.5, 0.6, 0.7, 0.9]})
    (found,) = interactions_in(figures(table, "val_acc")).to_dict("records")
    assert found["effect"] == pytest.approx(0.1)
    assert found["kind"] == "difference"


def test_what_multiplies_does_not_interact() -> None:
    table = drawn(0, share=1.0, noise=0.0)
    found = interactions_in(figures(table))
    assert (found["effect"] - 1).abs().max() < 1e-12
    num_blocks = dict(zip(zip(found["knob_a"], found["knob_b"], strict=True), found["num_blocks"],
                          strict=True))  # fmt: skip
    of_the_third = {("workers", "batch"): 2, ("workers", "amp"): 2, ("batch", "amp"): 3}
    assert num_blocks == of_the_third


def test_order_changes_nothing() -> None:
    table = drawn(3)
    found = interactions_in(figures(table))
    again = interactions_in(figures(table.sample(frac=1, random_state=0)))
    pd.testing.assert_frame_equal(found, again)


def test_knobs_that_were_not_tried_together_say_which_config_would_tell() -> None:
    found = knob_interactions(one_at_a_time().tables, on=SPEED)
    (row,) = found.to_dict("records")
    assert row["verdict"] == NOT_TRIED
    assert row["to_try"] == "--set batch_size=4000 --set num_workers=3"  # the faster of the two
    assert math.isnan(row["effect"])


def test_the_config_to_try_makes_a_block() -> None:
    run = one_at_a_time()
    (row,) = knob_interactions(run.tables, on=SPEED).to_dict("records")
    run.add_runs(_config(row["to_try"]), [1800.0])
    (block,) = [r for r in knob_interactions(run.tables, on=SPEED).to_dict("records")
                if r["num_blocks"]]  # fmt: skip
    assert block["effect"] == pytest.approx(1800 * 1000 / (1400 * 1300), rel=1e-4)
    assert block["to_try"] == ""


def _config(options: str) -> dict[str, object]:
    changes: dict[str, object] = {}
    for word in shlex.split(options):
        if word != "--set":
            name, text = word.split("=")
            changes[name] = type(KNOBS[name][0])(float(text))
    return config(**changes)


def test_without_the_baseline_the_config_with_the_most_partners_is_gone_from() -> None:
    rows = [{"a": 1, "b": 0, "c": 1}, {"a": 0, "b": 1, "c": 1}, {"a": 0, "b": 0, "c": 1}]
    found = interactions_in(figures(frame(rows, [1, 2, 3]), a=0, b=0, c=0))
    (row,) = found[(found["knob_a"] == "a") & (found["knob_b"] == "b")].to_dict("records")
    assert row["to_try"] == "--set a=1 --set b=1 --set c=1"


def test_a_fourth_config_that_was_lost_is_not_asked_for() -> None:
    run = MadeRun()
    for c in (config(), config(num_workers=3), config(batch_size=4000)):
        run.add_runs(c, [1000.0])
    lost = config(num_workers=3, batch_size=4000)
    run.add(lost, state="infeasible", reason="needs 20 GiB of memory")
    (row,) = knob_interactions(run.tables, on=SPEED).to_dict("records")
    assert (row["verdict"], row["to_try"]) == (LOST, "")


@pytest.mark.parametrize(
    ("rows", "baseline"),
    [
        # Without workers nothing is prefetched: no config has 0 workers and 4 batches ahead.
        ([(0, 2), (3, 2), (3, 4)], (0, 2)),
        # 0 workers with 4 batches ahead, which the baseline has, is the config (0, 2).
        ([(3, 4), (0, 2)], (3, 4)),
    ],
)
def test_a_knob_that_has_no_effect_without_the_other_makes_no_block(
    rows: list[tuple[int, int]], baseline: tuple[int, int]
) -> None:
    names = ("workers", "ahead")
    table = frame([dict(zip(names, row, strict=True)) for row in rows], range(1, len(rows) + 1))
    (found,) = figures(table, **dict(zip(names, baseline, strict=True)))
    assert interactions_in([found])["verdict"].tolist() == [NOT_TRIED]  # the two might be any
    nested = replace(found, conditional={"ahead": 2})
    assert interactions_in([nested])[["verdict", "to_try"]].to_numpy().tolist() == [[NESTED, ""]]


def test_a_conditional_knob_that_is_in_effect_is_one_like_others() -> None:
    rows = [{"workers": w, "ahead": a} for w, a in ((3, 2), (3, 4), (8, 2))]
    (found,) = figures(frame(rows, [1, 2, 3]), workers=3, ahead=2)
    (row,) = interactions_in([replace(found, conditional={"ahead": 2})]).to_dict("records")
    assert row["to_try"] == "--set workers=8 --set ahead=4"


def test_roles_decide_which_figure_two_knobs_are_told_of() -> None:
    found = knob_interactions(products_run().tables)
    told = set(zip(found["knob_a"], found["knob_b"], found["metric"], strict=True))
    assert told == {("batch_size", "num_workers", SPEED), ("lr", "batch_size", "val_acc")}
    assert np.isfinite(found["low"]).all()


def test_composed_figures_of_the_same_runs_make_no_block() -> None:
    found = knob_interactions(factored_run().tables, on=SPEED)
    of_lr = found[(found["knob_a"] == "lr") | (found["knob_b"] == "lr")]
    assert set(of_lr["verdict"]) == {Verdict.SAME_RUNS}
    assert (of_lr["num_blocks"] == 0).all()

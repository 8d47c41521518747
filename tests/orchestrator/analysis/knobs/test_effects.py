import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orchestrator.analysis as an
from orchestrator.analysis.knobs.effects import effects_in
from orchestrator.analysis.knobs.figures import Verdict
from orchestrator.analysis.knobs.of_run import asked_figures
from orchestrator.analysis.statistics.matched_pairs import holm
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.knobs.frames import ACCURACY, SPEED, drawn, figures, frame


def row(table: pd.DataFrame, knob: str, value: object = None, on: str = SPEED) -> pd.Series:
    rows = table[(table["knob"] == knob) & (table["metric"] == on)]
    return rows[(rows["value"] == value) | (value is None)].iloc[0]


def test_two_pairs_by_hand() -> None:
    #           batch 1   batch 2
    # workers 0   100       100
    # workers 3   200       400
    rows = [{"workers": w, "batch": b} for w in (0, 3) for b in (1, 2)]
    found = row(effects_in(figures(frame(rows, [100, 100, 200, 400]), workers=0)), "workers")
    assert (found["reference"], found["value"], found["num_pairs"]) == (0, 3, 2)
    assert found["effect"] == pytest.approx(math.sqrt(2 * 4))
    assert (found["smallest"], found["largest"]) == pytest.approx((2, 4))
    assert math.isnan(found["low"])  # two pairs and no repeat: the noise is unknown
    assert (found["verdict"], found["basis"]) == (Verdict.OPEN, "noise not known")


def test_a_knob_that_does_nothing_is_not_confounded_with_those_tried_with_it() -> None:
    #  the faster configs have lr 2 more often: their median is higher, and no pair differs
    rows = [{"lr": 1, "workers": w} for w in (0, 1, 2)] + [
        {"lr": 2, "workers": w} for w in (1, 2, 3)
    ]
    table = frame(rows, [100, 200, 300, 200, 300, 400])
    assert table.groupby("params.lr")[f"metrics.{SPEED}"].median().tolist() == [200, 300]
    found = row(effects_in(figures(table)), "lr")
    assert (found["effect"], found["num_pairs"]) == (1.0, 2)
    assert found["verdict"] == Verdict.EQUAL


def test_a_knob_that_never_changed_alone_has_a_row_with_a_note() -> None:
    table = frame([{"a": 0, "b": 0}, {"a": 1, "b": 1}], [1, 2])
    found = effects_in(figures(table))
    assert found["verdict"].tolist() == [Verdict.NO_PAIR] * 2
    assert found[["effect", "low", "p"]].isna().all(axis=None)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.001, 7.0, 1e6]))
def test_neither_order_nor_unit_nor_names_change_an_effect(seed: int, factor: float) -> None:
    table = drawn(seed)
    figures_before = effects_in(figures(table))
    shuffled = table.sample(frac=1, random_state=seed, ignore_index=True)
    column = f"metrics.{SPEED}"
    scaled = table.assign(**{column: factor * table[column]})
    renamed = table.assign(**{"params.amp": table["params.amp"].map({"off": "no", "on": "yes"})})
    numbers = ["effect", "low", "high", "p", "num_pairs", "smallest", "largest"]
    for other in (shuffled, scaled, renamed):
        found = effects_in(figures(other))
        assert found["knob"].tolist() == figures_before["knob"].tolist()
        for name in numbers:
            assert found[name].tolist() == pytest.approx(
                figures_before[name].tolist(), nan_ok=True, rel=1e-6, abs=1e-9
            )


def test_roles_decide_the_figure_and_a_requested_one_is_shown_of_all_knobs(
    run: RunTables,
) -> None:
    found = effects_in(asked_figures(run))
    combinations = set(zip(found["knob"], found["metric"], found["kind"], strict=True))
    assert combinations == {
        ("num_workers", SPEED, "ratio"),
        ("batch_size", SPEED, "ratio"),
        ("batch_size", ACCURACY, "difference"),
        ("lr", ACCURACY, "difference"),
    }
    asked = effects_in(asked_figures(run, SPEED))
    assert set(asked["knob"]) == {"num_workers", "batch_size", "lr"}
    assert row(asked, "lr")["verdict"] == Verdict.OPEN  # speed_of() ignores it
    assert row(asked, "num_workers", 3)["verdict"] == Verdict.HIGHER


def test_runs_that_composed_figures_share_count_once(factored: RunTables) -> None:
    found = effects_in(asked_figures(factored, SPEED))
    assert row(found, "num_workers", 3)["num_pairs"] == 3  # three batch sizes, whatever the lr
    assert bool(row(found, "num_workers", 3)["composed"])
    lr = row(found, "lr")
    assert (lr["verdict"], lr["num_pairs"]) == (Verdict.SAME_RUNS, 0)
    assert math.isnan(lr["effect"])


def test_a_knob_without_effect_does_not_separate_two_configs() -> None:
    # without workers nothing is prefetched or persists: such a config pairs with all of three
    rows = [
        {"workers": 0, "persist": False, "ahead": 2, "batch": 1},
        {"workers": 3, "persist": True, "ahead": 2, "batch": 1},
        {"workers": 3, "persist": True, "ahead": 4, "batch": 1},
        {"workers": 3, "persist": True, "ahead": 2, "batch": 2},
        {"workers": 6, "persist": False, "ahead": 2, "batch": 1},
    ]
    idle = ["persist, ahead", "", "", "", ""]
    table = frame(rows, [100, 150, 170, 200, 180], **{"tags.idle": idle})
    effects = effects_in(figures(table, workers=0, ahead=2, batch=1))
    three = row(effects, "workers", 3)
    assert (three["num_pairs"], three["effect"]) == (1, pytest.approx(1.5))
    six = row(effects, "workers", 6)
    assert (six["num_pairs"], six["effect"]) == (1, pytest.approx(1.8))
    between = effects[(effects["knob"] == "workers") & (effects["reference"] == 3)]
    assert between.empty, "3 workers that persist and 6 that do not differ in two knobs"


def test_a_knob_that_only_follows_another_was_not_varied() -> None:
    rows = [{"workers": 0, "persist": False}, {"workers": 3, "persist": True}]
    table = frame(rows, [100, 150], **{"tags.idle": ["persist", ""]})
    assert set(effects_in(figures(table))["knob"]) == {"workers"}


def test_p_is_corrected_for_all_rows() -> None:
    (found,) = figures(drawn(0, share=1.0))
    knobs = ["batch", "amp"]
    alone = [effects_in([replace(found, asked=[knob])])["p"].item() for knob in knobs]
    together = effects_in([replace(found, asked=knobs)])
    assert together["p"].to_numpy() == pytest.approx(holm(np.array(alone)))


# -- an.effects


def test_some_trials_of_a_run_are_a_run(run: an.RunTables) -> None:
    every = run.only(run.trials["seed"] >= 0)
    pd.testing.assert_frame_equal(an.effects(run, on=SPEED), an.effects(every, on=SPEED))
    found = an.effects(run.only(run.trials["params.batch_size"] == 500), on=SPEED)
    assert set(found["knob"]) == {"num_workers", "lr"}


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ("samples_pers", "effects: .*no column 'samples_pers'; did you mean 'samp"),
        ("num_runs", "effects: .*no column 'num_runs'"),
    ],
)
def test_wrong_use_is_one_message(on: str, message: str, run: an.RunTables) -> None:
    with pytest.raises(an.TableError, match=message):
        an.effects(run, on=on)

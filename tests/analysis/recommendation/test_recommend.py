from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from analysis.recommendation.recommend import command_of, recommend
from analysis.recommendation.speedup import Basis, speed_up
from analysis.rule import rule_of
from tests.analysis.made_runs import Config, MadeRun, config, products_run

FAST = config(lr=1e-2, batch_size=4000, num_workers=3)


def searched() -> MadeRun:
    """The products run without its confirm stage."""
    run = products_run()
    run.rows = [row for row in run.rows if row["stage"] == "train"]
    return run


def confirm(run: MadeRun, c: Config, speeds: list[float], **cells: object) -> None:
    for repeat, speed in enumerate(speeds):
        run.add(c, stage="confirm", repeat=repeat, **{"metrics.samples_per_s": speed, **cells})


def test_the_claim_is_the_paired_ratio_of_the_confirm_runs() -> None:
    run = searched()
    ours, theirs = [4100.0, 3900.0, 4400.0], [1000.0, 980.0, 1100.0]
    confirm(run, FAST, ours)
    confirm(run, config(), theirs)
    found = speed_up(run.trials, FAST, run.sweep, rule_of(run.sweep))
    logs = np.log(ours) - np.log(theirs)
    low, high = np.exp(stats.t.interval(0.95, 2, loc=logs.mean(), scale=stats.sem(logs)))
    assert found.ratio == pytest.approx(np.exp(logs.mean()))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    # A slow minute hits both runs of a pair: their ratio does not see it.
    unpaired = np.exp(stats.t.ppf(0.975, 4) * np.log(ours).std(ddof=1) * np.sqrt(2 / 3))
    assert found.high / found.low < unpaired**2


def test_the_searching_figure_stands_beside_the_confirmed_one(made: MadeRun) -> None:
    speedup = recommend(made.trials, made.sweep).speedup
    assert speedup is not None
    assert speedup.searching_ratio == pytest.approx(24511 / 6137, rel=1e-3)
    assert speedup.ratio != speedup.searching_ratio
    assert "3.99x in the runs that selected it" in speedup.text


def test_pairs_are_matched_by_repeat_and_broken_ones_left_out() -> None:
    run = searched()
    confirm(run, FAST, [4000.0, 4000.0, 8000.0])
    confirm(run, config(), [1000.0, 1000.0])
    run.add(config(), stage="confirm", repeat=2, state="failed", reason="killed")
    speedup = speed_up(run.trials, FAST, run.sweep, rule_of(run.sweep))
    assert (speedup.num_pairs, speedup.ratio) == (2, pytest.approx(4.0))


def test_one_pair_gives_a_ratio_and_no_interval() -> None:
    run = searched()
    confirm(run, FAST, [4000.0])
    confirm(run, config(), [1000.0])
    speedup = speed_up(run.trials, FAST, run.sweep, rule_of(run.sweep))
    assert (speedup.ratio, speedup.low) == (pytest.approx(4.0), None)
    assert "too few for an interval" in speedup.text


@pytest.mark.parametrize(
    ("confirm_runs", "words"),
    [(0, "the sweep has no confirm stage"), (3, "no confirm run was made")],
)
def test_without_confirm_runs_there_is_a_figure_and_no_claim(confirm_runs: int, words: str) -> None:
    run = searched()
    run.sweep["confirm"] = confirm_runs
    recommendation = recommend(run.trials, run.sweep)
    assert recommendation.speedup is not None
    assert recommendation.speedup.basis is Basis.SEARCHING
    assert recommendation.speedup.low is None
    assert words in recommendation.how_sure


def test_confirm_runs_that_failed_are_named() -> None:
    run = searched()
    for c in (FAST, config()):
        run.add(c, stage="confirm", state="not_run", reason="the time budget ended")
    assert "(2 not_run)" in recommend(run.trials, run.sweep).how_sure


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("failed", "ValueError: no\nTraceback", "the baseline is failed: ValueError: no"),
        (None, "", "the baseline was not run"),
    ],
)
def test_without_the_baseline_the_speed_up_is_not_known(
    state: str | None, reason: str, words: str
) -> None:
    run = MadeRun()
    run.add(FAST)
    if state:
        run.add(config(), state=state, reason=reason)
    recommendation = recommend(run.trials, run.sweep)
    assert recommendation.config == FAST
    assert recommendation.speedup is not None
    assert recommendation.speedup.ratio is None
    assert recommendation.how_sure == f"speed-up not known: {words}"


def test_an_interval_that_reaches_one_is_not_a_gain() -> None:
    run = searched()
    confirm(run, FAST, [1050.0, 990.0, 1000.0])
    confirm(run, config(), [1000.0, 1000.0, 1000.0])
    recommendation = recommend(run.trials, run.sweep)
    assert recommendation.config == FAST
    assert "not shown to be faster than the baseline" in recommendation.how_sure


def test_a_config_that_its_confirm_runs_show_to_be_slower_gives_way_to_the_baseline() -> None:
    run = searched()
    confirm(run, FAST, [800.0, 810.0, 805.0])
    confirm(run, config(), [1000.0, 1000.0, 1000.0])
    recommendation = recommend(run.trials, run.sweep)
    assert recommendation.config == config()
    assert "looked faster in the runs that selected it and is not" in recommendation.why
    assert recommendation.speedup is not None
    assert recommendation.speedup.basis is Basis.SAME


def test_a_baseline_that_is_not_accurate_enough_does_not_come_back() -> None:
    run = searched()
    run.sweep["baseline"] = config(lr=1e-2, batch_size=500)  # 1.6 points short
    confirm(run, FAST, [800.0, 810.0, 805.0])
    confirm(run, run.sweep["baseline"], [1000.0, 1000.0, 1000.0])
    recommendation = recommend(run.trials, run.sweep)
    assert recommendation.config == FAST
    assert "the confirm runs show it to be slower than the baseline" in recommendation.notes


def test_a_baseline_that_could_not_be_recommended_is_said_to_be_so(made: MadeRun) -> None:
    words = "the baseline itself is not accurate enough"
    assert not any(words in note for note in recommend(made.trials, made.sweep).notes)
    made.sweep["baseline"] = config(lr=1e-2, batch_size=500)  # 1.6 points short
    notes = recommend(made.trials, made.sweep).notes
    said = next(note for note in notes if words in note)
    assert said.endswith(": val_acc 90.11 %, where the rule asks for 91.25 %")


def test_what_the_rule_asks_for_is_told_from_comparable_rows_alone() -> None:
    run = searched()
    confirm(run, FAST, [24_000.0, 24_100.0])
    confirm(run, config(), [6000.0, 6000.0])
    other = {"tags.cpu_model": "another processor", "metrics.val_acc": 0.99}
    run.add(config(lr=1e-2, batch_size=1000), **other)
    notes = recommend(run.trials, run.sweep).notes
    assert any("another processor" in note for note in notes)
    assert not any("not accurate enough" in note or "short of" in note for note in notes)


def test_confirm_runs_that_miss_the_accuracy_are_said() -> None:
    run = searched()
    confirm(run, FAST, [24_000.0, 24_100.0], **{"metrics.val_acc": 0.9})
    confirm(run, config(), [6000.0, 6000.0])
    notes = recommend(run.trials, run.sweep).notes
    assert any("reach val_acc 90.00 %, short of the 91.25 %" in note for note in notes)


def test_a_value_at_the_edge_of_what_was_tried_is_flagged(made: MadeRun) -> None:
    notes = recommend(made.trials, made.sweep).notes
    assert "the largest batch_size tried, 4000, was chosen: the best may lie beyond it" in notes
    assert not any("lr" in note or "num_workers" in note for note in notes)


def test_figures_come_from_the_confirm_runs_and_test_is_reported(made: MadeRun) -> None:
    said = recommend(made.trials, made.sweep).to_json()
    confirmed = made.trials[made.trials["stage"] == "confirm"]
    ours = confirmed[confirmed["params.num_workers"] == 3]
    assert said["measured_in"] == "confirm"
    assert said["test_acc"] == pytest.approx(ours["metrics.test_acc"].mean())
    assert said["samples_per_s"] == pytest.approx(stats.gmean(ours["metrics.samples_per_s"]))


def test_the_json_is_plain_and_says_null_for_what_is_not_known() -> None:
    run = searched()
    run.rows = [row for row in run.rows if row["state"] != "completed"][1:]
    run.rows[0] |= {"state": "infeasible"}
    said = json.loads(json.dumps(recommend(run.trials, run.sweep).to_json(), allow_nan=False))
    assert said["config"] is None
    assert said["samples_per_s"] is None
    assert said["speedup"] is None
    assert said["data"] == "products-synthetic"
    assert "within 0.5 points of the best" in said["rule"]


def test_the_command_sets_what_varies_and_what_is_not_the_default(made: MadeRun) -> None:
    changed = config(fanouts=(5, 10), persistent_workers=False, lr=0.0123456789)
    assert command_of(changed, made.sweep) == (
        "--set", "lr=0.0123456789", "--set", "batch_size=1000", "--set", "num_workers=0",
        "--set", "fanouts=5,10", "--set", "persistent_workers=false",
    )  # fmt: skip


def test_each_setting_of_the_command_is_read_back_as_the_same_value() -> None:
    from orchestrator.space.declare import both, knobs, parse_setting

    @knobs
    class Settings:
        lr: float = both(default=0.1, doc="d")
        flag: bool = both(default=True, doc="d")
        fanouts: tuple[int, ...] = both(default=(1,), doc="d")

    values = {"lr": 0.0123456789, "flag": False, "fanouts": (5, 10)}
    sweep = {
        "knobs": {name: {"default": None, "allowed": ""} for name in values},
        "space": dict.fromkeys(values, ""),
    }
    settings = command_of(values, sweep)[1::2]
    assert dict(parse_setting(Settings, setting) for setting in settings) == values


def test_speeds_of_two_kinds_are_said_to_be(made: MadeRun) -> None:
    def said(rates: list[str]) -> bool:
        trials = made.trials.assign(**{"tags.rate": np.resize(rates, len(made.trials))})
        return any("too short for a steady" in n for n in recommend(trials, made.sweep).notes)

    assert said(["steady", "epochs"])
    assert not said(["steady"])
    assert not said(["epochs"]), "they are all of a kind"

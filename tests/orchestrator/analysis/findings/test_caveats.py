"""Caveats of a run, the difference in accuracy, the cost."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.findings.answer_figures import (
    Difference,
    accuracy_difference,
    cost_of_run,
    row_of,
)
from orchestrator.analysis.findings.caveats import Caveat, Finding, Health
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.knobs.effects import effects
from orchestrator.analysis.knobs.figures import Verdict
from orchestrator.analysis.recommendation.speedup import Speedup, speed_up
from orchestrator.trial import Stage
from tests.orchestrator.analysis.findings.runs import FAST, searched
from tests.orchestrator.analysis.made_runs import (
    ACCURACY,
    Config,
    MadeRun,
    config,
    factored_run,
    products_run,
)

CLASSES = "metrics.val_classes_predicted"


def caveats(run: MadeRun, code: Caveat) -> list[Finding]:
    return [one for one in findings(run.tables).checks if one.code is code]


@pytest.mark.parametrize("shared", [[], [FAST], [config()]], ids=["none", "its", "the baseline's"])
def test_a_claim_from_shared_cores_has_a_caveat(shared: list[Config]) -> None:
    run = searched((FAST, 1300.0), (config(), 1000.0))
    for c, speed in ((FAST, 1300.0), (config(), 1000.0)):
        cells = {"stage": "confirm", "isolation": "shared" if c in shared else "exclusive"}
        run.add_runs(c, [speed, speed * 1.001, speed * 0.999], **cells)
    assert len(caveats(run, Caveat.SHARED)) == len(shared)


@pytest.mark.parametrize(
    ("sizes", "chosen", "is_largest"),
    [
        ((500, 1000, 4000), 4000, True),
        ((500, 1000, 4000), 1000, None),
        ((500, 1000, 4000), 500, False),
        ((500, 1000), 1000, None),  # two values have no middle to miss
        ((1, 500, 1000), 1, None),  # as small as the knob allows
    ],
)
def test_a_value_at_the_edge_of_three_or_more(
    sizes: tuple[int, ...], chosen: int, is_largest: bool | None
) -> None:
    run = searched(*((config(batch_size=n), 1000.0 + 900 * (n == chosen)) for n in sizes))
    found = [one for one in caveats(run, Caveat.EDGE) if one.health is Health.WARNING]
    most = {True: "the largest batch_size", False: "the smallest batch_size"}
    assert [one.text[: len(most[is_largest or False])] for one in found] == (
        [] if is_largest is None else [most[is_largest]]
    )
    run.sweep["space"]["batch_size"] = "int_range(500, 4000)"
    assert [one.health for one in caveats(run, Caveat.EDGE)] == [Health.PASS], "drawn values"


@pytest.mark.parametrize(
    ("baseline", "fast", "configs"),
    [(5, 1, ["its"]), (1, 5, ["the baseline's"]), (1, 1, ["its", "the baseline's"]), (5, 5, [])],
)
def test_a_model_that_predicts_one_class(baseline: float, fast: float, configs: list[str]) -> None:
    run = searched((config(), 800.0), (FAST, 1300.0))
    run.rows[0][CLASSES], run.rows[1][CLASSES] = baseline, fast
    texts = [one.text for one in caveats(run, Caveat.ONE_CLASS)]
    assert [text.partition(" 1 run")[0] for text in texts] == [f"in 1 of {one}" for one in configs]


@pytest.mark.parametrize("gain", [1.0, 1.03])
def test_a_knob_is_called_without_effect_where_the_effects_show_none(gain: float) -> None:
    """Its pairs show what two noisy configs do not."""
    run = MadeRun()
    for batch_size in (250, 500, 1000, 2000, 4000):
        for workers, speed in ((0, 1000.0), (3, 2000.0 + (batch_size == 1000))):
            for threads in (0, 2):
                centre = speed * (gain if threads else 1.0)
                speeds = [centre * (1 + 0.02 * off) for off in (-1, 0, 1)]
                c = config(num_workers=workers, threads=threads, batch_size=batch_size)
                run.add_runs(c, speeds)
    table = effects(run.tables, "samples_per_s").set_index("knob")
    assert (table["verdict"]["threads"] == Verdict.HIGHER) is (gain > 1)
    texts = [one.text for one in caveats(run, Caveat.EFFECT)]
    assert texts == ([] if gain > 1 else ["no effect shown of threads"])


def test_a_knob_that_counts_as_both_is_named() -> None:
    tables = factored_run().tables
    candidates = tables.candidates.copy()
    candidates.attrs["roles"] = {"num_workers": "both"}
    checks = findings(replace(tables, candidates=candidates)).checks
    texts = [one.text for one in checks if one.code is Caveat.ROLES]
    assert texts == ["num_workers declared systems, counted as both"]


def loaded(num_dirty: int, num_clean: int) -> MadeRun:
    run = MadeRun()
    run.add_runs(config(), [1000.0] * num_clean, **{"metrics.foreign_share": 0.01})
    dirty = {"tags.contaminated": "30 %", "metrics.foreign_share": 0.3}
    run.add_runs(config(), [900.0] * num_dirty, first=num_clean, **dirty)
    return run


@pytest.mark.parametrize(
    ("num_dirty", "health", "is_busy"),
    [(0, Health.PASS, False), (1, Health.WARNING, False), (2, Health.WARNING, True)],
)
def test_a_machine_is_busy_where_a_quarter_of_its_runs_was_disturbed(
    num_dirty: int, health: Health, is_busy: bool
) -> None:
    run = loaded(num_dirty, 8 - num_dirty)
    (load,) = caveats(run, Caveat.OTHER_LOAD)
    assert (load.health, load.text.startswith(f"{num_dirty} of 8 runs")) == (health, True)
    assert bool(findings(run.tables).busy) is is_busy
    for row in run.rows:
        row["tags.contaminated"] = None  # on cores that were not its own
    assert caveats(run, Caveat.OTHER_LOAD)[0].health is Health.UNKNOWN


FAST = config(num_workers=3)
LARGE = config(lr=1e-2, batch_size=4000, num_workers=3)


def run_of(ours: list[float], theirs: list[float], **cells: object) -> MadeRun:
    run = MadeRun()
    for c, accuracies in ((FAST, ours), (config(), theirs)):
        for repeat, accuracy in enumerate(accuracies):
            own = {ACCURACY: accuracy, **cells}
            run.add_runs(c, [1000.0 + c["num_workers"]], first=repeat, **own)
    return run


def difference_of(run: MadeRun) -> Difference:
    return accuracy_difference(run.tables, FAST)


def test_of_confirm_runs_it_is_paired_by_their_rounds() -> None:
    ours, theirs = [0.91, 0.93, 0.95], [0.90, 0.91, 0.94]
    difference = difference_of(run_of(ours, theirs, stage="confirm"))
    expected = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert difference.centre == pytest.approx(0.04 / 3)
    assert (difference.low, difference.high) == pytest.approx((expected.low, expected.high))
    assert not difference.selected


@pytest.mark.parametrize("theirs", [[0.90, 0.91, 0.94], [0.90]], ids=["repeated", "one run"])
def test_of_searching_runs_their_variance_is_pooled(theirs: list[float]) -> None:
    ours = [0.91, 0.93, 0.95]
    difference = difference_of(run_of(ours, theirs))
    df = len(ours) + len(theirs) - 2
    pooled = (2 * stats.tvar(ours) + (len(theirs) > 1 and 2 * stats.tvar(theirs))) / df
    half = stats.t.ppf(0.975, df) * math.sqrt(pooled * (1 / len(ours) + 1 / len(theirs)))
    centre = sum(ours) / len(ours) - sum(theirs) / len(theirs)
    assert (difference.low, difference.high) == pytest.approx((centre - half, centre + half))
    assert difference.selected


def test_two_runs_of_one_seed_are_one() -> None:
    run = run_of([0.91], [0.9])
    run.add_runs(FAST, [1003.0], first=0, **{ACCURACY: 0.912})
    assert accuracy_difference(run.tables, FAST) is None
    run.add_runs(FAST, [1003.0], first=1, **{ACCURACY: 0.913})
    assert accuracy_difference(run.tables, FAST) is None
    run.add_runs(config(), [1000.0], first=1, **{ACCURACY: 0.9})
    assert difference_of(run).centre == pytest.approx((0.911 + 0.913) / 2 - 0.9)


@pytest.mark.parametrize("stage", ["train", "confirm"])
def test_intervals_over_a_few_hundred_samples_cover_the_difference(stage: str) -> None:
    """Paired seeds of three runs each, accuracies counted on 200 samples, and no difference."""
    rng, covered, known = np.random.default_rng(0), 0, 0
    for _ in range(30):
        ours, theirs = (np.round(200 * (0.9 + 0.01 * rng.standard_normal(3))) / 200 for _ in "ab")
        difference = accuracy_difference(run_of([*ours], [*theirs], stage=stage).tables, FAST)
        known += difference is not None
        covered += difference is not None and difference.low <= 0 <= difference.high
    assert covered / known >= 0.92


@pytest.mark.parametrize(
    ("ours", "theirs", "stage"),
    [([0.91, 0.92], [0.9, 0.91], "confirm"), ([0.9, 0.2], [0.2, 0.8], "train")],
    ids=["two rounds", "as wide as the accuracy"],
)
def test_there_is_no_difference(ours: list[float], theirs: list[float], stage: str) -> None:
    assert accuracy_difference(run_of(ours, theirs, stage=stage).tables, FAST) is None


def test_the_curves_of_other_settings_show_it_in_a_factored_search() -> None:
    tables = factored_run(confirmed=False).tables
    changed = config(lr=1e-2, batch_size=4000, num_workers=8)
    difference = accuracy_difference(tables, changed)
    curves = tables.trials[(tables.trials["stage"] == "train")].set_index("trial_id")
    means = curves.groupby(["params.lr", "params.batch_size"])[ACCURACY].mean()
    assert difference.centre == pytest.approx(means[1e-2, 4000] - means[3e-3, 1000])


@pytest.mark.parametrize(
    ("low", "high", "sign", "way", "is_none"),
    [
        (0.01, 0.03, 1.0, 1, False),
        (0.01, 0.03, -1.0, -1, False),
        (-0.004, 0.003, 1.0, 0, True),
        (-0.02, 0.03, 1.0, 0, False),
    ],
)
def test_an_interval_shows_better_worse_none_or_nothing(
    low: float, high: float, sign: float, way: int, is_none: bool
) -> None:
    difference = Difference(centre=(low + high) / 2, low=low, high=high, sign=sign, tolerance=0.005)
    assert (difference.way, difference.is_none) == (way, is_none)


def test_what_a_search_took_is_of_all_trials_those_without_a_result_too() -> None:
    tables = products_run().tables
    cost = cost_of_run(tables, {}, {}, None)
    assert cost["search_s"] == pytest.approx(tables.trials["wall_s"].sum())
    assert cost["search_core_hours"] == pytest.approx(
        (tables.trials["wall_s"] * tables.trials["cores"]).sum() / 3600
    )
    assert {*cost} == {"search_s", "search_core_hours"}


def test_an_epoch_is_shorter_by_the_speed_up() -> None:
    tables = products_run().tables
    speedup = speed_up(tables, LARGE)
    figures = [row_of(tables, c, Stage.CONFIRM, tables.main_group) for c in (LARGE, config())]
    cost = cost_of_run(tables, *figures, speedup)
    rows = tables.trials[tables.trials["stage"] == "confirm"]
    epoch_s = rows.loc[rows["params.num_workers"] == 0, "metrics.epoch_s"].mean()
    assert cost["saved_s_per_epoch"] == pytest.approx(epoch_s * (1 - 1 / speedup.ratio))
    assert cost["epochs_to_pay"] == pytest.approx(cost["search_s"] / cost["saved_s_per_epoch"])
    assert (cost["peak_rss_gib"], cost["baseline_peak_rss_gib"]) == pytest.approx((1.95, 0.9))
    slower = Speedup(ratio=0.8, low=0.79, high=0.81, num_pairs=3)
    wide = Speedup(ratio=2.0, low=0.1, high=40.0, num_pairs=2)
    for other in (slower, wide):
        assert "epochs_to_pay" not in cost_of_run(tables, *figures, other)

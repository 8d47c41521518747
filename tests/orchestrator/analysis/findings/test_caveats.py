"""What the figures of a run rest on, and what weakens them."""

from __future__ import annotations

import pytest

from orchestrator.analysis.findings.codes import Caveat, Finding, Health
from orchestrator.analysis.findings.findings import findings
from tests.orchestrator.analysis.findings.runs import (
    FAST,
    findings_of,
    searched,
)
from tests.orchestrator.analysis.made_runs import ACCURACY, Config, MadeRun, config

CLASSES = "metrics.val_classes_predicted"


def caveats(run: MadeRun, code: Caveat) -> list[Finding]:
    return [one for one in findings(run.tables).caveats if one.code is code]


def codes(run: MadeRun) -> set[object]:
    return {one.code for one in findings(run.tables).caveats}


def health_of(name: str, code: Caveat) -> Health | None:
    found = findings_of(name).caveat(code)
    return found and found.health


@pytest.mark.parametrize(
    ("name", "code", "health"),
    [
        ("a whole run", Caveat.DATA, Health.WARNING),
        ("a replay", Caveat.DATA, Health.PASS),
        ("a replay", Caveat.REPLAY, Health.WARNING),
        ("a factored run", Caveat.COMPOSED, Health.PASS),
        ("a factored run without confirm runs", Caveat.COMPOSED, Health.WARNING),
        ("a whole run", Caveat.COMPOSED, None),
        ("a whole run", Caveat.DRIFT, Health.PASS),
        ("a drift", Caveat.DRIFT, Health.WARNING),
        ("no confirm run", Caveat.DRIFT, Health.UNKNOWN),
        ("a whole run", Caveat.NOISE, Health.PASS),
        ("not told apart", Caveat.NOISE, Health.WARNING),
        ("disturbed and wide", Caveat.NOISE, Health.WARNING),
        ("no confirm run", Caveat.NOISE, Health.UNKNOWN),
        ("a whole run", Caveat.TRIALS, Health.WARNING),
        ("no confirm run", Caveat.TRIALS, Health.PASS),
        ("no confirm stage", Caveat.BUDGET, Health.WARNING),
    ],
)
def test_the_health_of_a_run(name: str, code: Caveat, health: Health | None) -> None:
    assert health_of(name, code) == health


@pytest.mark.parametrize(
    ("column", "cell", "code"),
    [
        ("tags.contaminated", "12 % of its cores' time", Caveat.CONTAMINATED),
        ("isolation", "shared", Caveat.SHARED),
        ("device", "NVIDIA H200", Caveat.CONDITIONS),
        ("tags.rate", "epochs", Caveat.SHORT_EPOCHS),
    ],
)
def test_a_cell_that_weakens_the_answer(column: str, cell: str, code: Caveat) -> None:
    run = searched((FAST, 1000.0), (config(), 900.0), (config(num_workers=1), 800.0))
    for row in run.rows:
        row["tags.rate"] = "steady"
    assert code not in codes(run)
    for row in run.rows if code is Caveat.SHARED else run.rows[:1]:
        row[column] = cell
    assert code in codes(run)


def test_contaminated_runs_that_were_left_out_are_counted() -> None:
    run = searched((config(), 800.0))
    run.add_runs(FAST, [1300.0, 1300.0])
    run.add_runs(FAST, [900.0], first=2, **{"tags.contaminated": "30 %"})
    assert [one["num"] for one in caveats(run, Caveat.CONTAMINATED)] == [1]


@pytest.mark.parametrize("shared", [[], [FAST], [config()]], ids=["none", "its", "the baseline's"])
def test_a_claim_from_shared_cores_has_a_caveat(shared: list[Config]) -> None:
    run = searched((FAST, 1300.0), (config(), 1000.0))
    for c, speed in ((FAST, 1300.0), (config(), 1000.0)):
        cells = {"stage": "confirm", "isolation": "shared" if c in shared else "exclusive"}
        run.add_runs(c, [speed, speed * 1.001, speed * 0.999], **cells)
    assert len(caveats(run, Caveat.SHARED)) == len(shared)


def test_the_baseline_and_confirm_runs_short_of_the_rule() -> None:
    run = searched((config(), 1000.0), (FAST, 2000.0))
    run.rows[0][ACCURACY] = 0.5
    run.add_runs(FAST, [2000.0], stage="confirm", **{ACCURACY: 0.8})
    (short,), (baseline,) = (
        caveats(run, code) for code in (Caveat.CONFIRM_SHORT, Caveat.BASELINE_SHORT)
    )
    assert (short["value"], baseline["value"]) == (0.8, 0.5)
    assert short["limit"] == baseline["limit"] == pytest.approx(0.895)


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
    assert [(one["knob"], one["is_largest"]) for one in found] == [("batch_size", is_largest)] * (
        is_largest is not None
    )
    run.sweep["space"]["batch_size"] = "int_range(500, 4000)"
    assert [one.health for one in caveats(run, Caveat.EDGE)] == [Health.PASS], "drawn values"


@pytest.mark.parametrize(
    ("baseline", "fast", "whose"),
    [(5, 1, ["its"]), (1, 5, ["the baseline's"]), (1, 1, ["its", "the baseline's"]), (5, 5, [])],
)
def test_a_model_that_predicts_one_class(baseline: float, fast: float, whose: list[str]) -> None:
    run = searched((config(), 800.0), (FAST, 1300.0))
    run.rows[0][CLASSES], run.rows[1][CLASSES] = baseline, fast
    assert [one["whose"] for one in caveats(run, Caveat.ONE_CLASS)] == whose


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
    assert (load.health, load["disturbed"], load["watched"]) == (health, num_dirty, 8)
    assert bool(findings(run.tables).busy) is is_busy
    for row in run.rows:
        row["tags.contaminated"] = None  # on cores that were not its own
    assert caveats(run, Caveat.OTHER_LOAD)[0].health is Health.UNKNOWN

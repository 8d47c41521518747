"""What the figures of a run rest on, and what weakens them."""

from __future__ import annotations

import pytest

from orchestrator.analysis.findings.codes import Caveat, Finding, Health
from orchestrator.analysis.findings.findings import findings
from tests.orchestrator.analysis.findings.runs import (
    FAST,
    searched,
)
from tests.orchestrator.analysis.made_runs import Config, MadeRun, config

CLASSES = "metrics.val_classes_predicted"


def caveats(run: MadeRun, code: Caveat) -> list[Finding]:
    return [one for one in findings(run.tables).caveats if one.code is code]


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

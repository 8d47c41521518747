"""``hold_out=false`` trains on the validation part too, and reports nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator import DataFolders
from orchestrator.space.configs import knobs_of, replaced
from tests.trainables.contract import CASES, Case
from tests.trainables.running import batches_seen, context, train_once

EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)
OF_NODES = pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.trainable.name in ("graphsage", "rgat")],
    ids=lambda case: case.trainable.name,
)


@EVERY_CASE
def test_without_it_nothing_is_reported_of_validation(case: Case) -> None:
    assert "hold_out" in knobs_of(case.trainable.config)
    config = replaced(case.quick, {"hold_out": False})
    reports = train_once(case.trainable, config, context(case.data, evaluate_test=True))
    [report] = reports.kept
    assert not [name for name in report.metrics if name.startswith("val_")]
    assert [name for name in report.metrics if name.startswith("test_")], "tested all the same"


@OF_NODES
def test_without_it_validation_nodes_are_trained_on(case: Case) -> None:
    facts = case.data.prepare(DataFolders.default(Path("nowhere"))).facts
    seeds = {}
    for hold_out in (True, False):
        config = replaced(case.quick, {"hold_out": hold_out, "drop_last": False})
        batches = batches_seen(case.trainable, config, context(case.data))
        seeds[hold_out] = sum(batch.total for batch in batches)
    assert seeds == {True: facts["train"], False: facts["train"] + facts["val"]}

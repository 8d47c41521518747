"""A run of every trainable: its seed, its end, its checkpoint and its look at the test split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.measurement.run import TrialStopped
from orchestrator.space.configs import canonical, replaced
from tests.trainables.contract import CASES, Case
from tests.trainables.running import Reports, context, train_once

BY_NAME = {case.trainable.name: case for case in CASES}
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=BY_NAME)


def shortened(case: Case, knobs: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401
    """Return the case's config with epochs of two steps."""
    return canonical(replaced(case.large_batches(), knobs or {}))


@EVERY_CASE
def test_the_seed_decides_what_is_learned(case: Case) -> None:
    def losses(seed: int) -> list[float]:
        where = context(case.data, seed=seed, steps=2)
        return train_once(case.trainable, case.quick, where).metric("train_loss")

    assert losses(1) == losses(1) != losses(2)


@pytest.mark.parametrize(
    ("name", "lr"),
    [("lenet", 1e9), ("mlp", 1e9), ("graphsage", 1e30), ("rgat", 1e38), ("node_embedding", 1e38)],
)
def test_training_that_diverges_says_since_which_step(name: str, lr: float) -> None:
    case = BY_NAME[name]
    config = replaced(case.quick, {"lr": lr})
    with pytest.raises(FloatingPointError, match=r"loss is not finite since step \d+ of \d+"):
        train_once(case.trainable, config, context(case.data, epochs=3))


@pytest.mark.parametrize("num_workers", [0, 2])
@EVERY_CASE
def test_a_trial_that_is_stopped_leaves_after_its_report(case: Case, num_workers: int) -> None:
    reports = Reports(stop_after=2)
    config = shortened(case, {"num_workers": num_workers})
    with pytest.raises(TrialStopped):
        train_once(case.trainable, config, context(case.data, epochs=9), reports=reports)
    assert len(reports.kept) == 2


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        *((name, {}) for name in BY_NAME),
        ("rgat", {"lr_step": 1}),
        ("node_embedding", {"embedding": "sparse"}),
    ],
    ids=str,
)
def test_a_restored_run_goes_on_as_if_nothing_had_happened(
    name: str, knobs: dict[str, object], tmp_path: Path
) -> None:
    case = BY_NAME[name]
    config, score = shortened(case, knobs), case.trainable.reports[0].metric

    def trained(epochs: int, checkpoint_dir: Path | None) -> Reports:
        where = context(
            case.data, epochs=epochs, evaluate_test=epochs == 3, checkpoint_dir=checkpoint_dir
        )
        return train_once(case.trainable, config, where)

    whole = trained(3, None)
    trained(2, tmp_path)
    rest = trained(3, tmp_path)
    assert [report.epoch for report in rest.kept] == [3]
    for metric in ("train_loss", score, score.replace("val", "test")):
        assert rest.metric(metric) == whole.metric(metric)[-1:] != []


@EVERY_CASE
def test_the_test_split_is_kept_back_unless_it_is_asked_for_and_then_seen_once(case: Case) -> None:
    def in_reports(*, evaluate_test: bool) -> list[bool]:
        where = context(case.data, epochs=3, evaluate_test=evaluate_test)
        reports = train_once(case.trainable, shortened(case), where)
        return [metric in report.metrics for report in reports.kept]

    metric = case.trainable.reports[0].metric.replace("val", "test")
    assert in_reports(evaluate_test=False) == [False, False, False]
    assert in_reports(evaluate_test=True) == [False, False, True]

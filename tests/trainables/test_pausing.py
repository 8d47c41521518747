"""Every trainable learns the same whether its curve is trained in one go or with a pause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from orchestrator.space.configs import replaced
from orchestrator.trial import Budget
from tests.trainables.contract import CASES, Case
from tests.trainables.running import Reports, context, train_once
from trainables import rgat

EPOCHS, PAUSE = 9, 3
LEARNED = ("train_loss", "val_acc", "val_auc")
OF_EACH_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.trainable.name)


def trained(case: Case, folder: Path | None, *, pause_after: int | None = None) -> Reports:
    """Train 9 epochs, or up to a pause; evaluated after the fifth, and where training ends."""
    where = context(case.data, evaluate_test=False, checkpoint_dir=folder)
    where = replace(where, budget=Budget(epochs=EPOCHS, pause_after=pause_after))
    return train_once(case.trainable, replaced(case.quick, {"eval_every": 5}), where)


def learned(reports: Reports, *, of: range) -> list[tuple[int, dict[str, float]]]:
    """Return what was learned by each report of these epochs."""
    return [
        (report.epoch, {name: report.metrics[name] for name in LEARNED if name in report.metrics})
        for report in reports.kept
        if report.epoch in of
    ]


@OF_EACH_CASE
def test_a_curve_with_a_pause_is_that_of_one_go(case: Case, tmp_path: Path) -> None:
    whole = trained(case, None)
    first = trained(case, tmp_path, pause_after=PAUSE)
    torch.manual_seed(1)  # another process has another state
    rest = trained(case, tmp_path)
    assert [report.epoch for report in first.kept] == [1, 2, 3]
    assert any(name.startswith("val_") for name in learned(first, of=range(3, 4))[0][1]), (
        "evaluated at the pause"
    )
    assert learned(first, of=range(1, 3)) == learned(whole, of=range(1, 3))
    assert learned(rest, of=range(1, 10)) == learned(whole, of=range(4, 10))
    counts = [(r.epoch, r.step, r.samples) for r in (*first.kept, *rest.kept)]
    assert counts == [(r.epoch, r.step, r.samples) for r in whole.kept]


def test_a_best_network_that_only_a_pause_has_looked_at_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The accuracy falls from epoch to epoch: the best one is the first that is evaluated."""
    falling = iter(range(100, 0, -1))
    monkeypatch.setattr(rgat, "_validated", lambda *_: {"val_acc": next(falling) / 100})
    case = next(case for case in CASES if case.trainable.name == "rgat")
    first = trained(case, tmp_path, pause_after=PAUSE)
    rest = trained(case, tmp_path)
    assert first.metric("val_acc") == [1.0]
    assert rest.metric("val_acc") == [0.99, 0.99], "the fifth's, again at the end"

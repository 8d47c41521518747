"""A run that follows another framework's loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from orchestrator.integrations.following import FollowedLoop
from tests.orchestrator.integrations.loops import make_run


def test_epochs_are_counted_and_reported_by_names_of_ones_own(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=3, pause_after=2)
    loop = FollowedLoop(run, {"acc/val": "val_acc"})
    for accuracy in (0.25, 0.5):
        loop.begin_epoch()
        loop.keep({"acc/val": torch.tensor(accuracy), "names": ["a"], "matrix": np.eye(2)})
        loop.keep({"f1": np.float32(0.5), "kind": "macro"})
        loop.report()
    loop.end_training()
    loop.end_training()
    assert [report.epoch for report in reports.kept] == [1, 2]
    assert reports.of("val_acc") == [0.25, 0.5]
    assert reports.of("f1") == [0.5, 0.5]
    assert not {"names", "matrix", "kind", "acc/val"} & set(reports.kept[0].metrics)
    assert run.pause_reason == "paused after 2 of 3 epochs"

"""Batches and schedule of rgat: the knobs with an effect outside the loss."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator.data import PreparedData
from orchestrator.errors import DataError
from orchestrator.measurement.run import Run
from tests.helping import python
from tests.trainables.graph.rgat_runs import TINY, quick
from tests.trainables.graph.stores import write_store
from tests.trainables.running import Reports, context, train_once
from trainables.rgat import Rgat, rgat


def test_lr_falls_every_so_many_epochs() -> None:
    seen: list[float] = []

    class Watching(Run):
        def batches(self, loader: Any, *, samples: Any) -> Iterator[Any]:  # noqa: ANN401
            for arriving in super().batches(loader, samples=samples):
                yield arriving
                optimizer.update(taken[-1].param_groups[0])
            seen.append(optimizer["lr"])

    taken: list[torch.optim.Adam] = []
    optimizer: dict[str, Any] = {}
    made = torch.optim.Adam.__init__

    def noted(self: torch.optim.Adam, *args: Any, **given: Any) -> None:  # noqa: ANN401
        taken.append(self)
        made(self, *args, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim.Adam, "__init__", noted)
        config = quick(lr=0.1, lr_step=2, lr_decay=0.5)
        train_once(rgat, config, context(TINY, epochs=5), make_run=Watching)
    assert seen == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025])


def test_validation_and_test_go_by_their_own_fanouts_and_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated: list[tuple[int, int]] = []
    forward = Rgat.forward

    def noted(self: Rgat, inputs: torch.Tensor, blocks: Any) -> torch.Tensor:  # noqa: ANN401
        if not self.training:
            most = int(torch.bincount(blocks[-1].targets[blocks[-1].pairs]).max())
            evaluated.append((blocks[-1].num_targets, most))
        return forward(self, inputs, blocks)

    monkeypatch.setattr(Rgat, "forward", noted)
    train_once(rgat, quick(eval_fanouts=(2, 3), eval_batch_size=30), context(TINY))
    assert evaluated == [(30, 3), (11, 3)]
    evaluated.clear()
    tested = context(TINY, evaluate_test=True)
    knobs = {"eval_fanouts": (9, 9), "test_fanouts": (1, 2), "test_batch_size": 20}
    train_once(rgat, quick(eval_batch_size=41, **knobs), tested)
    assert evaluated == [(41, 9), (20, 2), (17, 2)]


def test_eval_fanouts_change_the_accuracy_and_not_the_training() -> None:
    few, many = (
        train_once(rgat, quick(eval_fanouts=fanouts), context(TINY, epochs=4))
        for fanouts in ((1, 1), (20, 20))
    )
    assert few.metric("train_loss") == many.metric("train_loss")
    assert few.metric("val_acc") != many.metric("val_acc")


LARGER = """
import json, re, sys
from pathlib import Path

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.graph.stores import larger_than_memory
from tests.trainables.running import Reports
from trainables.graph.places.mapped import mapped_bytes
from trainables.data.formats.relational_store import RelationalStore
from trainables.rgat import RgatConfig, rgat

data = larger_than_memory(Path(sys.argv[1]))

def peak_gib(mapped_gib, steps):
    config = RgatConfig(
        batch_size=64, fanouts=(20,), eval_fanouts=(20,), test_fanouts=(20,), hidden=8, heads=2,
        threads=1, mapped_gib=mapped_gib,
    )
    reports = Reports()
    budget = Budget(epochs=9, steps=steps)
    rgat.train(config, Run(Context(seed=0, budget=budget, data=data), reports))
    assert reports.kept[-1].step == steps
    # Not getrusage: that begins with the peak of the process which started this one.
    [peak] = re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) / 2**20

first = peak_gib(9, 3)
libraries_gib = mapped_bytes() / 2**30
figures = {
    "first": first,
    "kept within": peak_gib(libraries_gib + 0.1, 60),
    "not kept": peak_gib(99, 60),
    "features": RelationalStore.open(data.path).features.nbytes / 2**30,
}
print(json.dumps(figures))
"""


@pytest.mark.slow
def test_features_may_exceed_memory_and_what_is_kept_of_them_is_bounded(tmp_path: Path) -> None:
    finished = python(
        "-c", LARGER, str(tmp_path / "store"),
        variables={"DGLBACKEND": "pytorch"},
    )  # fmt: skip
    peak_gib = json.loads(finished.stdout.splitlines()[-1])
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    assert peak_gib["features"] > 1.2 * memory_gib
    assert peak_gib["kept within"] < peak_gib["first"] + 0.15
    assert peak_gib["not kept"] > peak_gib["kept within"] + 0.15  # so the limit is what did it


@pytest.fixture
def as_mag240m(tmp_path: Path) -> PreparedData:
    """A set with as many test nodes as MAG240M has, their labels unknown as there."""
    nodes = np.arange(147_000)
    labels = nodes % 3
    labels[182:] = -1
    test = nodes[182:]
    arrays = {
        "indptr": np.arange(147_001),
        "indices": np.roll(nodes, 1),
        "edge_type": (nodes % 2).astype(np.uint8),
        "features": np.eye(3, 8, dtype=np.float16)[nodes % 3],
        "labels": labels,
        "train": nodes[:120],
        "val": nodes[120:182],
        "test": test,
        "test_dev": test[:88_092],
        "test_challenge": test[88_092:],
    }
    return write_store(tmp_path / "store", arrays)


def handing_in(data: PreparedData, folder: Path, *, epochs: int, evaluate_test: bool) -> Reports:
    config = quick(submission=str(folder), test_batch_size=30_000, lr=0.05, dropout=0.0)
    where = context(TINY, epochs=epochs, evaluate_test=evaluate_test)
    return train_once(rgat, config, replace(where, data=data))


def test_test_predictions_of_the_best_model_are_handed_in(
    as_mag240m: PreparedData, tmp_path: Path
) -> None:
    reports = handing_in(as_mag240m, tmp_path / "out", epochs=6, evaluate_test=True)
    assert reports.metric("val_acc")[-1] == 1
    assert reports.metric("test_acc") == []  # it is unknown here
    with np.load(tmp_path / "out" / "y_pred_mag240m_test-dev.npz") as handed_in:
        assert np.array_equal(handed_in["y_pred"], np.arange(182, 182 + 88_092) % 3)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "y_pred_mag240m.npz",
        "y_pred_mag240m_test-challenge.npz",
        "y_pred_mag240m_test-dev.npz",
    ]


def test_a_run_without_the_test_split_notes_that_it_hands_nothing_in(
    as_mag240m: PreparedData, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handing_in(as_mag240m, tmp_path / "out", epochs=1, evaluate_test=False)
    assert "no submission is written" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_no_submission_is_promised_for_another_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no submission can be written for mag-synthetic@1e-05"):
        train_once(rgat, quick(submission=str(tmp_path)), context(TINY))

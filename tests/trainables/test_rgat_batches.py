"""Batches and schedule of rgat: the knobs whose effect can be seen outside the loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from orchestrator.measurement.run import Run
from tests.conftest import ROOT
from tests.trainables.rgat_runs import QUICK, TINY, quick, seen_by, store_of
from tests.trainables.running import context, train_once
from trainables.rgat import Rgat, RgatConfig, rgat


def test_every_epoch_trains_on_every_node_once() -> None:
    seen = seen_by(QUICK, context(TINY, epochs=2))
    assert [len(batch.labels) for batch in seen] == [60, 60, 60, 60, 54] * 2
    store = store_of(TINY)
    for epoch in (seen[:5], seen[5:]):
        labels = torch.cat([batch.labels for batch in epoch])
        assert sorted(labels.tolist()) == sorted(store.labels[store.train].tolist())
    assert not torch.equal(seen[0].labels, seen[5].labels)


def test_features_come_in_half_precision_from_outside_the_graph() -> None:
    batch = seen_by(QUICK)[0]
    assert batch.inputs.dtype is torch.float16
    assert len(batch.inputs) > batch.blocks[0].num_targets > batch.blocks[1].num_targets == 60


def test_fanouts_are_those_of_the_blocks() -> None:
    first, last = seen_by(quick(fanouts=(2, 3)))[0].blocks
    assert torch.bincount(first.targets[first.pairs]).max() == 2
    assert torch.bincount(last.targets[last.pairs]).max() == 3


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


def test_the_defaults_are_the_study_s() -> None:
    """What it validated and tested with; how batches were made there is in the sweep."""
    config = RgatConfig()
    assert (config.fanouts, config.batch_size) == ((15, 25), 512)
    assert (config.eval_fanouts, config.eval_batch_size) == ((15, 25), 512)
    assert (config.test_fanouts, config.test_batch_size) == ((160, 160), 16)
    assert (config.lr, config.lr_step, config.lr_decay, config.weight_decay) == (1e-3, 25, 0.25, 0)
    assert (config.hidden, config.heads, config.dropout, config.eval_every) == (1024, 4, 0.5, 1)


LARGER = """
import json, re, sys
from pathlib import Path

from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.graph.stores import larger_than_memory
from tests.trainables.running import Reports
from trainables.graph.mapped import mapped_bytes
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
    finished = subprocess.run(
        [sys.executable, "-c", LARGER, str(tmp_path / "store")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DGLBACKEND": "pytorch"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    peak_gib = json.loads(finished.stdout.splitlines()[-1])
    memory_gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    assert peak_gib["features"] > 1.2 * memory_gib
    assert peak_gib["kept within"] < peak_gib["first"] + 0.15
    assert peak_gib["not kept"] > peak_gib["kept within"] + 0.15  # so the limit is what did it

"""Learning of graphsage on a GPU, against the CPU's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from orchestrator.space.configs import canonical
from tests.trainables.graphsage_runs import TINY, quick, seen_by, store_of
from tests.trainables.running import (
    context,
    train_once,
)
from trainables.graphsage import graphsage


@pytest.mark.gpu
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"num_workers": 2},
        {"num_workers": 2, "pin_memory": True, "non_blocking": True},
        {"pin_memory": True, "prefetch": "stream"},
        {"num_workers": 2, "pin_memory": True, "prefetch": "stream", "persistent_workers": True},
        {"prefetch": "thread"},
        {"feature_placement": "host"},
        {"feature_placement": "pinned"},
        {"feature_placement": "device"},
        {"feature_placement": "device", "num_workers": 2},
        {"aggregator": "gcn", "feature_placement": "device"},
        {"aggregator": "pool"},
        {"aggregator": "pool", "feature_placement": "device"},
    ],
    ids=str,
)
def test_a_gpu_learns_what_the_cpu_learns(knobs: dict[str, Any]) -> None:
    aggregator = knobs.get("aggregator", "mean")
    alike = {"dropout": 0.0, "aggregator": aggregator}
    here = train_once(graphsage, quick(device="cpu", **alike), context(TINY, epochs=4, steps=20))
    there = train_once(
        graphsage,
        quick(device="cuda", **{**alike, **knobs}),
        context(TINY, epochs=4, steps=20, device="cuda:0"),
    )
    assert there.metric("train_loss") == pytest.approx(here.metric("train_loss"), rel=1e-3)
    assert there.metric("val_acc")[-1] == pytest.approx(here.metric("val_acc")[-1], abs=0.01)


@pytest.mark.gpu
@pytest.mark.parametrize("aggregator", ["mean", "gcn", "pool"])
def test_full_mode_on_a_gpu_learns_what_the_cpu_learns(aggregator: str) -> None:
    config = canonical(quick(mode="full", dropout=0.0, aggregator=aggregator))
    here = train_once(graphsage, config, context(TINY, epochs=4))
    there = train_once(graphsage, config, context(TINY, epochs=4, device="cuda:0"))
    assert there.metric("train_loss") == pytest.approx(here.metric("train_loss"), rel=1e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("amp", ["bf16", "fp16"])
def test_mixed_precision_learns_on_a_gpu(amp: str) -> None:
    reports = train_once(
        graphsage, quick(amp=amp, device="cuda"), context(TINY, epochs=12, device="cuda:0")
    )
    losses = reports.metric("train_loss")
    assert losses[-1] < 0.75 * losses[0]


@pytest.mark.gpu
def test_features_in_page_locked_memory_are_read_by_the_gpu_from_there() -> None:
    from trainables.graph.placement import placed

    features = store_of(TINY).tensors().features
    cuda = torch.device("cuda:0")
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    seen = placed(features, "pinned", cuda)
    assert torch.cuda.memory_allocated() - before < features.nbytes // 2
    assert seen.device.type == "cuda"
    rows = torch.randint(0, len(features), (1000,))
    assert torch.equal(torch.index_select(seen, 0, rows.to(cuda)).cpu(), features[rows])
    del seen
    assert placed(features, "device", cuda).is_cuda
    assert torch.cuda.memory_allocated() - before < features.nbytes // 2


@pytest.mark.gpu
def test_on_the_device_a_batch_carries_ids_only() -> None:
    from trainables.graph.minibatch import Named

    [first, *_] = seen_by(
        quick(device="cuda", feature_placement="device"), context(TINY, device="cuda:0")
    )
    assert isinstance(first.inputs, Named)
    assert not first.inputs.nodes.is_cuda  # when it arrives; the step moves it

"""Learning of rgat on a GPU, against the CPU's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.trainables.rgat_runs import QUICK, TINY, quick
from tests.trainables.running import context, train_once
from trainables.rgat import rgat


@pytest.mark.gpu
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"num_workers": 2},
        {"pin_memory": True, "non_blocking": True},
        {"pin_memory": True, "prefetch": "stream"},
        {"num_workers": 2, "pin_memory": True, "prefetch": "stream", "persistent_workers": True},
        {"prefetch": "thread"},
        {"fanouts": (-1, 5)},
    ],
    ids=str,
)
def test_a_gpu_learns_what_the_cpu_learns(knobs: dict[str, Any]) -> None:
    alike = {"dropout": 0.0, "fanouts": knobs.get("fanouts", QUICK.fanouts)}
    here = train_once(rgat, quick(device="cpu", **alike), context(TINY, epochs=4, steps=20))
    there = train_once(
        rgat,
        quick(device="cuda", **{**alike, **knobs}),
        context(TINY, epochs=4, steps=20, device="cuda:0"),
    )
    assert there.metric("train_loss") == pytest.approx(here.metric("train_loss"), rel=5e-3)
    assert there.metric("val_acc")[-1] == pytest.approx(here.metric("val_acc")[-1], abs=0.05)


@pytest.mark.gpu
@pytest.mark.parametrize("amp", ["bf16", "fp16"])
def test_mixed_precision_learns_on_a_gpu(amp: str) -> None:
    where = context(TINY, epochs=8, device="cuda:0")
    losses = train_once(rgat, quick(amp=amp, device="cuda"), where).metric("train_loss")
    assert losses[-1] < 0.8 * losses[0]

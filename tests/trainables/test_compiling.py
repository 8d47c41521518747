"""Compilation: every trainable that has it learns the same, in as few programs as it can."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from orchestrator.space.configs import knobs_of, replaced
from tests.trainables.contract import CASES, Case
from tests.trainables.running import context, train_once

WITH_COMPILE = [case for case in CASES if "compile" in knobs_of(case.quick)]
MODES = [
    "default",
    *(pytest.param(m, marks=pytest.mark.gpu) for m in ("reduce-overhead", "max-autotune")),
]


@pytest.fixture
def stats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Counters of a compiler that has compiled nothing yet."""
    from torch._dynamo.utils import counters

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of compiling processes
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "0")  # scalar code is compiled faster
    torch._dynamo.reset()
    counters.clear()
    yield counters["stats"]
    torch._dynamo.reset()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", WITH_COMPILE, ids=lambda case: case.trainable.name)
def test_what_is_compiled_learns_the_same(case: Case, mode: str, stats: Any) -> None:  # noqa: ANN401
    knobs = {name: value for name, value in case.same_on_gpu.items() if name == "dropout"}
    if mode != "default" and "mode" in knobs_of(case.quick):
        knobs["mode"] = "full"
    plain = replaced(case.quick, knobs)
    config = replaced(plain, {"compile": mode})
    device = "cpu" if mode == "default" else "cuda:0"
    where = context(case.data, epochs=3, steps=3, device=device)
    expected = train_once(case.trainable, plain, where).metric("train_loss")
    found = train_once(case.trainable, config, where).metric("train_loss")
    assert found == pytest.approx(expected, rel=1e-4 if mode == "default" else 5e-3)
    # One program for the batches of all shapes; rgat has a few, since some of its guards differ.
    most = 20 if case.trainable.name == "rgat" else 2
    assert 0 < stats["unique_graphs"] <= most

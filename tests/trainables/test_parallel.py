import os
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch.nn.functional import cross_entropy

from orchestrator import DataSet, Trainable
from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.conftest import RunCli
from tests.trainables.running import ON_TWO_GPUS, Reports, context, train_once
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC
from trainables.graphsage import graphsage
from trainables.lenet import lenet
from trainables.loading import BatchOrder
from trainables.node_embedding import node_embedding
from trainables.parallel import LONGEST_WAIT, Ranks, joined_ranks
from trainables.precision import Precision


@dataclass(frozen=True)
class OfRank:
    """Figures of one of the ranks that trained together."""

    gradients: list[list[float]]
    shares: list[int]
    total: float
    wrapper: str
    is_still_joined: bool
    longest_wait: timedelta


def trained_as_rank(rank: int, world_size: int, port: int) -> OfRank:
    """Train with the other ranks, in a separate process."""
    os.environ.update(
        RANK=f"{rank}", WORLD_SIZE=f"{world_size}", MASTER_ADDR="127.0.0.1", MASTER_PORT=f"{port}"
    )
    where = Context(seed=0, budget=Budget(epochs=1), rank=rank, world_size=world_size)
    torch.manual_seed(0)
    inputs, labels, network = torch.randn(5, 3), torch.arange(5) % 2, torch.nn.Linear(3, 2)
    order = BatchOrder(num_samples=5, batch_size=4, seed=0, rank=rank, world_size=world_size)
    gradients, shares = [], []
    with joined_ranks(Run(where, Reports())) as ranks:
        trained = ranks.parallel(network, "ddp")
        for draw in order.epoch(0):  # a batch of 4, then one of 1: rank 1 gets nothing of that
            network.zero_grad()
            parts = list(draw.parts(2))
            for part in parts:
                ranks.exchange_gradients(trained, part is parts[-1])
                scores = trained(inputs[part.indices])
                summed = cross_entropy(scores, labels[part.indices], reduction="sum")
                ranks.loss(summed, part.total).backward()
            gradients.append(network.weight.grad.flatten().tolist())
            shares.append(len(draw.indices))
        total = float(ranks.sum(torch.tensor(len(shares) + rank)))
        group = torch.distributed.distributed_c10d._get_default_group()
        longest_wait = group._get_backend(torch.device("cpu")).options._timeout
    is_joined = torch.distributed.is_initialized()
    return OfRank(gradients, shares, total, type(trained).__name__, is_joined, longest_wait)


def gradients_of_one_process() -> Iterator[torch.Tensor]:
    torch.manual_seed(0)
    inputs, labels, network = torch.randn(5, 3), torch.arange(5) % 2, torch.nn.Linear(3, 2)
    for draw in BatchOrder(num_samples=5, batch_size=4, seed=0).epoch(0):
        network.zero_grad()
        cross_entropy(network(inputs[draw.indices]), labels[draw.indices]).backward()
        yield network.weight.grad.flatten()


def test_ranks_have_the_gradient_of_the_whole_batch_however_it_is_shared(
    fork_server: ForkServerContext,
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with ProcessPoolExecutor(2, mp_context=fork_server) as pool:
        ranks = list(pool.map(trained_as_rank, (0, 1), (2, 2), (port, port)))
    expected = torch.stack(list(gradients_of_one_process()))
    assert [rank.shares for rank in ranks] == [[2, 1], [2, 0]]
    for rank in ranks:
        assert torch.allclose(torch.tensor(rank.gradients), expected, atol=1e-6)
        assert rank.total == 2 + 3
        assert rank.wrapper == "DistributedDataParallel"
        assert not rank.is_still_joined
        assert rank.longest_wait == LONGEST_WAIT, "rank 0 may evaluate for longer than ten minutes"


def test_a_rank_alone_needs_no_process_group() -> None:
    ranks = Ranks(index=0, count=1, device=torch.device("cpu"))
    network = torch.nn.Linear(1, 1)
    assert ranks.parallel(network, "none") is network
    assert float(ranks.sum(torch.tensor(3.0))) == 3.0
    assert float(ranks.loss(torch.tensor(6.0), 4)) == 1.5


@pytest.mark.parametrize(("amp", "dtype"), [("off", torch.float32), ("bf16", torch.bfloat16)])
def test_dp_s_threads_compute_in_the_type_asked_for(
    amp: Literal["off", "bf16"], dtype: torch.dtype
) -> None:
    """A thread of DataParallel does the same, with the type that it falls back to on GPUs."""
    ranks = Ranks(index=0, count=1, device=torch.device("cpu"))
    network = torch.nn.Linear(3, 2)
    precision = Precision(amp, ranks.device)
    trained = ranks.parallel(network, "dp", precision.autocast)
    assert isinstance(trained, torch.nn.DataParallel)

    def forward() -> torch.dtype:
        with torch.autocast("cpu", dtype=torch.float16, enabled=amp != "off"):
            return trained.module(torch.ones(4, 3)).dtype

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(forward).result() == dtype


@pytest.mark.parametrize(
    "amp", [pytest.param(amp, marks=ON_TWO_GPUS) for amp in ("off", "bf16", "fp16")]
)
def test_dp_scatters_batches_and_has_the_gradient_of_one_device(
    amp: Literal["off", "bf16", "fp16"],
) -> None:
    device = torch.device("cuda:0")
    ranks = Ranks(index=0, count=1, device=device)
    network = torch.nn.Linear(3, 2).to(device)
    precision = Precision(amp, device)
    trained = ranks.parallel(network, "dp", precision.autocast)
    seen: list[tuple[int | None, int, torch.dtype]] = []

    def note(_: torch.nn.Module, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
        seen.append((output.device.index, len(inputs[0]), output.dtype))

    inputs = torch.randn(4, 3, device=device)
    with network.register_forward_hook(note), precision.autocast():
        trained(inputs).float().sum().backward()
    dtype = {"off": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[amp]
    assert sorted(seen) == [(0, 2, dtype), (1, 2, dtype)]
    assert network.weight.grad is not None
    expected = inputs.sum(0).expand(2, 3)
    assert torch.allclose(network.weight.grad, expected, rtol=0.05, atol=0.05)


# -- every trainable that has ranks, by the command line


@pytest.mark.slow
def test_ranks_share_each_batch_and_learn_alike(run_cli: RunCli) -> None:
    """Not the same, as in the others: batch norm takes the mean of a rank's share."""
    flags = (
        "--data mag-synthetic@1e-5 --epochs 3 --hidden 16 --heads 2 --batch-size 60 --lr 0.01"
        " --fanouts 3,4 --eval-fanouts 8,8 --test-fanouts 9,9 --threads 1 --dropout 0 --ranks"
    )
    figures = []
    for ranks in ("1", "2"):
        done = run_cli(*flags.split(), ranks, module="trainables.rgat")
        figures.append(dict(re.findall(r"^  (\w+) +([\d.e-]+)", done.stdout, re.MULTILINE)))
    alone, shared = figures
    assert shared["steps"] == alone["steps"]
    assert float(shared["train_loss"]) == pytest.approx(float(alone["train_loss"]), rel=0.1)
    assert float(shared["val_acc"]) == pytest.approx(float(alone["val_acc"]), abs=0.1)


def named(value: object) -> str:
    """Return the part of a test's id."""
    return str(getattr(value, "name", value))


DIGITS_ODD = {
    "parallel": "ddp", "ranks": 2, "batch_size": 131, "lr": 0.05, "data_path": "batched",
    "threads": 1,
}  # fmt: skip
NODES_ODD = {
    "ranks": 2, "dropout": 0.0, "batch_size": 123, "fanouts": (4, 5), "hidden": 16, "lr": 0.01,
    "threads": 1, "num_workers": 1, "compile": "default",
}  # fmt: skip
PAIRS_ODD = {
    "ranks": 2, "batch_size": 123, "epoch_pairs": 2461, "dims": 16, "neighbours": 3,
    "negatives": 3, "walk_length": 5, "walks_per_node": 1, "window": 2, "lr": 0.05, "threads": 1,
    "num_workers": 1,
}  # fmt: skip
"""Batches that divide neither by the ranks nor by the samples; the last of the pairs is one."""
DENSE = {**PAIRS_ODD, "embedding": "dense"}
LARGE = PRODUCTS_SYNTHETIC.at("0.002")


@pytest.mark.timeout(400)  # each rank may run a compiler
@pytest.mark.parametrize(
    ("trainable", "data", "knobs", "places"),
    [
        (lenet, DIGITS, DIGITS_ODD, {"device": "cpu"}),
        (node_embedding, LARGE, PAIRS_ODD, {"device": "cpu"}),
        *(
            pytest.param(*each, {"device": "cpu"}, marks=pytest.mark.slow)
            for each in (
                (graphsage, LARGE, NODES_ODD), (node_embedding, LARGE, DENSE),
            )
        ),
        *(
            pytest.param(*each, marks=ON_TWO_GPUS)
            for each in (
                (lenet, DIGITS, DIGITS_ODD, {"device": "cuda"}),
                (graphsage, LARGE, NODES_ODD, {"device": "cuda"}),
                (node_embedding, LARGE, PAIRS_ODD, {"device": "cuda", "placement": "gpu"}),
                (node_embedding, LARGE, DENSE, {"device": "cuda", "placement": "cpu"}),
                (node_embedding, LARGE, DENSE, {"device": "cuda", "placement": "gpu"}),
            )
        ),
    ],
    ids=named,
)  # fmt: skip
def test_ranks_learn_what_one_process_learns(
    trainable: Trainable[Any],
    data: DataSet,
    knobs: dict[str, Any],
    places: dict[str, str],
    run_cli: RunCli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of compiling processes
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "0")  # scalar code is compiled faster
    flags: list[str] = []
    for name, value in {**knobs, **places}.items():
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
        flags += [f"--{name.replace('_', '-')}", text]
    length = ("--data", data.name, "--epochs", "2", "--steps", "20", "--test")
    done = run_cli(*length, *flags, module=f"trainables.{trainable.name}")
    words = (line.split() for line in done.stdout.splitlines())
    figures = {each[0]: each[1] for each in words if len(each) > 1}
    alone = {"ranks": 1, "parallel": "none", "compile": "off"}
    config = trainable.config(**{name: alone.get(name, value) for name, value in knobs.items()})
    where = context(data, epochs=2, steps=20, evaluate_test=True)
    expected = train_once(trainable, config, where)
    assert float(figures["steps"]) == expected.kept[-1].metrics["steps"]
    score = trainable.reports[0].metric
    for name, off in {"train_loss": 1e-3, score: 0.02, score.replace("val", "test"): 0.02}.items():
        assert float(figures[name]) == pytest.approx(expected.metric(name)[-1], abs=off)
    assert bool(list((tmp_path / "compiled").rglob("*.so"))) == ("compile" in knobs)

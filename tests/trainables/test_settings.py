"""The knobs that trainables share: their demands on a machine, and their needs."""

from typing import Any, Literal

import pytest
import torch

from orchestrator import Machine, Node, Trainable, knobs
from orchestrator.measurement.run import Run
from orchestrator.space.configs import canonical, values_of
from orchestrator.system.allocators import find_jemalloc
from tests.trainables.running import Reports, context
from trainables.data.sets.digits import DIGITS
from trainables.graph_knobs import RgatConfig, SageConfig
from trainables.graphsage import graphsage
from trainables.lenet import LeNetConfig, lenet
from trainables.mlp import mlp
from trainables.node_embedding import NodeEmbeddingConfig, node_embedding
from trainables.rgat import rgat
from trainables.settings import (
    PrefetchKnobs,
    ProcessKnobs,
    allocator_installed,
    demand_of,
    prepare_process,
)

CPU = Machine(nodes=(Node(name="a", cpus=4),))
GPUS = Machine(nodes=(Node(name="a", cpus=4), Node(name="b", cpus=8, gpus=2)))


@knobs
class Config(PrefetchKnobs, ProcessKnobs):
    """All groups of knobs."""


def test_a_demand_counts_ranks_gpus_workers_and_batches_ahead() -> None:
    config = Config(num_workers=3, prefetch_factor=4, allocator="default")
    demand = demand_of(config, GPUS, ranks=2, gpus_per_rank=2)
    assert (demand.ranks, demand.gpus, demand.workers, demand.burst) == (2, 4, 3, 12)
    assert demand_of(Config(num_workers=1, prefetch_factor=1), CPU).burst == 2
    assert demand.allocator == "default"
    assert demand_of(config, CPU, ranks=2).gpus == 0


def test_the_batch_in_a_thread_s_hand_is_one_more_of_a_burst() -> None:
    assert demand_of(Config(), CPU).burst == 1
    assert demand_of(Config(prefetch="thread"), CPU).burst == 2
    assert demand_of(Config(prefetch="thread", num_workers=2), CPU).burst == 5
    assert demand_of(ProcessKnobs(), CPU).burst == 1, "a trainable without a loader"


def canonical_values(**changed: Any) -> dict[str, Any]:  # noqa: ANN401 - of any knob
    return values_of(canonical(Config(**changed)))


def test_knobs_without_effect_have_their_defaults() -> None:
    assert canonical_values(prefetch_factor=8)["prefetch_factor"] == 2
    assert canonical_values(prefetch_factor=8, num_workers=1)["prefetch_factor"] == 8
    assert not canonical_values(persistent_workers=True)["persistent_workers"]
    assert not canonical_values(non_blocking=True)["non_blocking"], "nothing is pinned"
    assert canonical_values(non_blocking=True, pin_memory=True)["non_blocking"]
    ahead = canonical_values(non_blocking=True, pin_memory=True, prefetch="stream")
    assert not ahead["non_blocking"], "the stream never waits"


def test_an_allocator_that_is_not_installed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(allocator="jemalloc")
    assert (allocator_installed(config, CPU) is None) == (find_jemalloc() is not None)
    monkeypatch.setattr("trainables.settings.find_jemalloc", lambda: None)
    assert "libjemalloc" in str(allocator_installed(config, CPU))
    assert allocator_installed(Config(), CPU) is None


def test_a_process_has_the_threads_and_the_seed_of_its_run() -> None:
    run, before = Run(context(DIGITS, seed=5, num_cores=2), Reports()), torch.get_num_threads()
    try:
        prepare_process(Config(), run)
        assert torch.get_num_threads() == 2, "one a core"
        first = torch.rand(3)
        prepare_process(Config(threads=1), run)
        assert torch.get_num_threads() == 1
        assert torch.equal(torch.rand(3), first)
    finally:
        torch.set_num_threads(before)


def test_a_loader_s_cores_are_none_of_the_threads() -> None:
    run, before = Run(context(DIGITS, num_cores=3), Reports()), torch.get_num_threads()
    try:
        prepare_process(Config(num_workers=1, loader_cores=1), run)
        assert torch.get_num_threads() == 2
        with pytest.raises(ValueError, match="loader_cores=3 leaves none of a rank's 3 cores"):
            prepare_process(Config(num_workers=1, loader_cores=3), run)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("amp", ["off", "tf32", "bf16"])
def test_float32_is_float32_on_a_gpu_too_unless_asked_otherwise(
    amp: Literal["off", "tf32", "bf16"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)  # as it is by default
    run = Run(context(DIGITS, num_cores=torch.get_num_threads()), Reports())
    try:
        prepare_process(Config(amp=amp), run)
        assert torch.backends.cudnn.allow_tf32 is (amp == "tf32")
        assert torch.get_float32_matmul_precision() == ("high" if amp == "tf32" else "highest")
    finally:
        torch.set_float32_matmul_precision("highest")


WITH_RANKS = pytest.mark.parametrize(
    ("config_class", "reference"),
    [(LeNetConfig, 256), (SageConfig, 1000), (NodeEmbeddingConfig, 2000), (RgatConfig, 512)],
)
"""Config classes with several ranks, and the batch that their lr is meant for."""


@WITH_RANKS
@pytest.mark.parametrize(
    ("scaling", "ratio", "factor"),
    [("none", 2, 1), ("linear", 2, 2), ("sqrt", 4, 2), ("linear", 0.5, 0.5)],
)
def test_lr_grows_with_the_batch(
    config_class: Any,  # noqa: ANN401 - four classes
    reference: int,
    scaling: str,
    ratio: float,
    factor: float,
) -> None:
    config = config_class(lr=0.1, lr_scaling=scaling, batch_size=int(ratio * reference))
    assert config.scaled_lr() == pytest.approx(0.1 * factor)


@WITH_RANKS
def test_scaling_means_nothing_at_the_batch_that_lr_is_meant_for(
    config_class: Any,  # noqa: ANN401 - four classes
    reference: int,
) -> None:
    at_reference = config_class(lr_scaling="linear", batch_size=reference)
    assert canonical(at_reference) == config_class()


def test_scaling_means_nothing_where_the_whole_graph_is_the_batch() -> None:
    scaled = SageConfig(mode="full", batch_size=2000, lr_scaling="linear")
    assert canonical(scaled) == SageConfig(mode="full")


def named(value: object) -> str:
    """Return the part of a test's id."""
    return str(getattr(value, "name", value))


INFEASIBLE: list[tuple[Trainable[Any], dict[str, Any], int, str]] = [
    (lenet, {"parallel": "dp"}, 0, "parallel=dp needs two GPUs, the largest node has 0"),
    (lenet, {"parallel": "dp"}, 1, "needs 2 GPUs, the largest node has 1"),
    (lenet, {"parallel": "dp", "device": "cpu"}, 2, "parallel=dp needs two GPUs, and device=cpu"),
    (lenet, {"parallel": "ddp", "ranks": 2, "device": "cuda"}, 1, "needs 2 GPUs, the largest"),
    (lenet, {"parallel": "ddp"}, 0, "parallel=ddp needs ranks of at least 2"),
    (lenet, {"parallel": "dp", "compile": "default"}, 2, "compile does not go with parallel=dp"),
    (lenet, {"compile": "reduce-overhead"}, 0, "compile=reduce-overhead needs a GPU"),
    (graphsage, {"compile": "max-autotune"}, 1, "starts anew with each shape"),
    (rgat, {"compile": "reduce-overhead"}, 1, "starts anew with each shape"),
    (mlp, {"num_workers": 1, "loader_cores": 2}, 0, "leaves none of the node's 2 cores"),
    (mlp, {"data_placement": "pinned"}, 0, "data_placement=pinned needs a GPU"),
    (graphsage, {"mode": "full", "ranks": 2}, 0, "mode=full has one batch"),
    (graphsage, {"feature_placement": "pinned"}, 0, "feature_placement=pinned needs a GPU"),
    (graphsage, {"feature_placement": "device"}, 0, "feature_placement=device needs a GPU"),
    (graphsage, {"sampling": "gpu"}, 0, "sampling=gpu needs a GPU"),
    (graphsage, {"cache_gib": 1.0}, 0, "cache_gib > 0 needs a GPU"),
    (graphsage, {"sampling": "uva", "sampler": "labor"}, 1, "sampler=labor needs sampling=cpu"),
    (rgat, {"sampling": "uva"}, 0, "sampling=uva needs a GPU"),
    (rgat, {"feature_placement": "pinned"}, 0, "feature_placement=pinned needs a GPU"),
    (rgat, {"ranks": 2, "device": "cuda"}, 1, "needs 2 GPUs, the largest node has 1"),
    (rgat, {"heads": 3}, 0, "heads must divide hidden"),
    (rgat, {"fanouts": (1, 2, 3)}, 0, "fanouts, eval_fanouts and test_fanouts must be as many"),
    (node_embedding, {"placement": "gpu"}, 0, "placement=gpu needs a GPU"),
    (node_embedding, {"placement": "gpu", "device": "cpu"}, 1, "placement=gpu needs a GPU"),
    (node_embedding, {"amp": "bf16"}, 0, "amp does not go with embedding=sparse"),
    (node_embedding, {"amp": "fp16", "embedding": "dense"}, 1, "amp=fp16 needs placement=gpu"),
    (node_embedding, {"pin_memory": True}, 1, "pin_memory=True needs placement=gpu"),
]


@pytest.mark.parametrize(("trainable", "knobs", "gpus", "reason"), INFEASIBLE, ids=named)
def test_what_cannot_run_gives_the_reason(
    trainable: Trainable[Any], knobs: dict[str, Any], gpus: int, reason: str
) -> None:
    machine = Machine(nodes=(Node(name="here", cpus=2, gpus=gpus),))
    assert reason in str(trainable.infeasible(trainable.config(**knobs), machine))


@pytest.mark.parametrize(
    ("trainable", "knobs"),
    [
        (lenet, {"parallel": "dp"}),
        (lenet, {"pin_memory": True, "non_blocking": True}),
        (mlp, {"data_placement": "pinned", "non_blocking": True}),
        (mlp, {"data_placement": "pinned", "prefetch": "stream"}),
        (graphsage, {"feature_placement": "device"}),
        (graphsage, {"sampling": "gpu", "cache_gib": 1.0}),
        (graphsage, {"mode": "full", "compile": "reduce-overhead"}),
        (rgat, {"compile": "default"}),
        (rgat, {"sampling": "uva", "feature_placement": "pinned", "ranks": 2}),
        (node_embedding, {"placement": "gpu", "pin_memory": True, "prefetch": "stream"}),
        (node_embedding, {"placement": "gpu", "amp": "fp16", "embedding": "dense"}),
    ],
    ids=named,
)
def test_with_gpus_it_can_run(trainable: Trainable[Any], knobs: dict[str, Any]) -> None:
    assert trainable.infeasible(trainable.config(**knobs), GPUS) is None


@pytest.mark.parametrize("variable", ["CXX", "CC"])
def test_compiling_needs_a_compiler(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "no-such-compiler")
    found = lenet.infeasible(LeNetConfig(compile="default"), GPUS if variable == "CC" else CPU)
    assert f"or name one in ${variable}" in str(found)

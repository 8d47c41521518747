from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from torch.nn import functional
from torch.utils.data import DataLoader

from orchestrator import DataFolders, Isolation, Machine, Node, Trainable
from orchestrator.execution.inline import InlineExecutor
from orchestrator.kernel.executor import Launch, Limits, Needs, Source
from orchestrator.measurement.run import Run
from orchestrator.space.configs import canonical, values_of
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState
from tests.conftest import ROOT, RunCli
from tests.trainables.running import ON_TWO_GPUS, Reports, context, train_once
from trainables.data.sets.digits import DIGITS
from trainables.images import image_splits, normalised
from trainables.lenet import (
    LeNet,
    LeNetConfig,
    TransformedImages,
    batches_of,
    lenet,
)
from trainables.loading import Batched, num_samples
from trainables.mlp import mlp

QUICK = LeNetConfig(batch_size=132, lr=0.05, threads=1, data_path="resident")
"""Ten steps an epoch of digits."""


def machine(gpus: int = 0) -> Machine:
    return Machine(nodes=(Node(name="here", cpus=2, gpus=gpus),))


def quick(**knobs: object) -> LeNetConfig:
    values: dict[str, Any] = {**values_of(QUICK), **knobs}
    return LeNetConfig(**values)


# -- the network and what it learns


def test_it_is_lenet_5_with_3_by_3_kernels() -> None:
    network = LeNet()
    shapes = [tuple(p.shape) for name, p in network.named_parameters() if name.endswith("weight")]
    assert shapes == [(6, 1, 3, 3), (16, 6, 3, 3), (120, 400), (84, 120), (10, 84)]
    assert network(torch.zeros(7, 1, 28, 28)).shape == (7, 10)


@pytest.mark.parametrize("trainable", [lenet, mlp], ids=["lenet", "mlp"])
def test_there_is_an_output_for_each_class_of_the_set(
    trainable: Trainable[Any], tmp_path: Path
) -> None:
    digits = context(DIGITS, steps=1)
    letters = tmp_path / "letters"
    shutil.copytree(digits.data.path, letters)
    manifest = json.loads((letters / "manifest.json").read_text())
    manifest["facts"]["classes"] = 26
    (letters / "manifest.json").write_text(json.dumps(manifest))
    widths: list[int] = []
    hook = torch.nn.modules.module.register_module_forward_hook(
        lambda module, _, output: (
            widths.append(output.shape[1]) if isinstance(module, torch.nn.Linear) else None
        )
    )
    with hook:
        where = replace(digits, data=replace(digits.data, path=letters))
        train_once(trainable, trainable.config(), where)
    assert widths[-1] == 26


def test_it_learns_digits() -> None:
    reports = train_once(lenet, QUICK, context(DIGITS, epochs=12, evaluate_test=True))
    losses = reports.metric("train_loss")
    assert losses[0] > 2.0
    assert losses[-1] < 0.3
    assert reports.metric("val_acc")[-1] > 0.9
    [test_acc] = reports.metric("test_acc")
    assert test_acc > 0.85


def test_evaluation_has_the_mean_loss_beside_the_accuracy() -> None:
    at_rest = quick(lr=1e-12)
    reports = train_once(lenet, at_rest, context(DIGITS, evaluate_test=True))
    run = Run(context(DIGITS, evaluate_test=True), Reports())
    torch.manual_seed(0)
    network = LeNet()
    splits = image_splits(run, at_rest)
    for name, images in (("val_loss", splits.val), ("test_loss", splits.test)):
        scores = network(normalised(images.pixels).unsqueeze(1))
        expected = functional.cross_entropy(scores, images.labels)
        assert reports.metric(name) == [pytest.approx(expected.item(), rel=1e-5)]


# -- data paths


@pytest.mark.parametrize("knobs", [{}, {"num_workers": 1}, {"drop_last": True}])
def test_data_paths_give_the_same_batches(knobs: dict[str, Any]) -> None:
    def seen(data_path: str) -> list[torch.Tensor]:
        config = canonical(quick(data_path=data_path, **knobs))
        run = Run(context(DIGITS), Reports())
        batches = batches_of(image_splits(run, config).train, config, run)
        return [
            torch.cat([batch.inputs.flatten(1), batch.labels[:, None]], 1)
            for epoch in range(2)
            for batch in batches.epoch(epoch)
        ]

    expected = seen("per_sample")
    assert len(expected) == 2 * (9 if knobs.get("drop_last") else 10)
    for data_path in ("batched", "resident"):
        for batch, other in zip(expected, seen(data_path), strict=True):
            assert torch.equal(batch, other)


def test_each_data_path_fetches_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetched(data_path: str) -> tuple[int, int, int]:
        """Images transformed one by one, whole batches indexed, loaders."""
        counts = dict.fromkeys(("transformed", "indexed", "loaders"), 0)

        def counted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **knobs: Any) -> Any:  # noqa: ANN401 - whatever it is
                counts[name] += 1
                return method(*args, **knobs)

            return call

        with monkeypatch.context() as patch:
            for name, owner, method in (
                ("transformed", TransformedImages, "__getitem__"),
                ("indexed", Batched, "__call__"),
                ("loaders", DataLoader, "__init__"),
            ):
                patch.setattr(owner, method, counted(name, getattr(owner, method)))
            train_once(lenet, quick(data_path=data_path), context(DIGITS, steps=3))
        return counts["transformed"], counts["indexed"], counts["loaders"]

    # A fourth batch is asked for only where batches are fetched ahead.
    assert fetched("per_sample") == (3 * 132, 0, 1)
    assert fetched("batched") == (0, 3, 1)
    assert fetched("resident") == (0, 0, 0)


def test_resident_images_have_no_loader() -> None:
    config = quick(num_workers=3, prefetch_factor=5, pin_memory=True, non_blocking=True)
    assert canonical(config) == QUICK


def test_images_are_held_out_or_trained_on() -> None:
    def num_samples(config: LeNetConfig) -> tuple[int, int]:
        reports = train_once(lenet, config, context(DIGITS))
        return reports.kept[-1].samples, len(reports.metric("val_acc"))

    assert num_samples(QUICK) == (1317, 1)
    assert num_samples(quick(hold_out=False)) == (1437, 0)


# -- knobs whose effect is inside a step


def inside(config: LeNetConfig, look: Callable[[torch.nn.Module, Any], None]) -> None:
    """Train a step with ``look`` called with each convolution and its output."""
    hook = torch.nn.modules.module.register_module_forward_hook(
        lambda module, _, output: (
            look(module, output) if isinstance(module, torch.nn.Conv2d) else None
        )
    )
    with hook:
        train_once(lenet, config, context(DIGITS, steps=1))


def test_channels_last_keeps_the_channels_of_a_pixel_together() -> None:
    def layouts(config: LeNetConfig) -> set[bool]:
        found: set[bool] = set()
        inside(
            config,
            lambda _, out: found.add(out.is_contiguous(memory_format=torch.channels_last)),
        )
        return found

    assert layouts(QUICK) == {False}
    assert layouts(quick(channels_last=True)) == {True}


COMPILED = """
import sys
from tests.trainables.running import context, train_once
from tests.trainables.test_lenet import quick
from torch._dynamo.utils import counters
from trainables.data.sets.digits import DIGITS
from trainables.lenet import lenet

where = context(DIGITS, epochs=2, steps=20, device="cuda")
losses = train_once(lenet, quick(compile=True, device="cuda"), where).metric("train_loss")
sys.stdout.write(f"{losses[-1]} {counters['stats']['calls_captured']}")
"""


@pytest.mark.gpu
@pytest.mark.timeout(400)  # a compiler run
def test_compile_trains_through_compiled_code_on_a_gpu(tmp_path: Path) -> None:
    """On CPUs: test_compiled_ranks_learn_what_one_process_learns."""
    plain = train_once(
        lenet, quick(device="cuda"), context(DIGITS, epochs=2, steps=20, device="cuda")
    )
    finished = subprocess.run(
        [sys.executable, "-c", COMPILED],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    loss, calls_captured = finished.stdout.split()
    assert int(calls_captured) > 0
    assert float(loss) == pytest.approx(plain.metric("train_loss")[-1], rel=5e-3)  # TF32


# -- parallelism


def test_ranks_are_those_of_ddp() -> None:
    assert canonical(LeNetConfig(ranks=4)) == LeNetConfig()
    demand = lenet.demand(LeNetConfig(parallel="ddp", ranks=2), machine())
    assert (demand.ranks, demand.gpus) == (2, 0)
    demand = lenet.demand(LeNetConfig(parallel="ddp", ranks=2), machine(gpus=2))
    assert (demand.ranks, demand.gpus) == (2, 2)
    demand = lenet.demand(LeNetConfig(parallel="dp"), machine(gpus=2))
    assert (demand.ranks, demand.gpus) == (1, 2)


@pytest.mark.parametrize(
    ("config", "gpus", "reason"),
    [
        (LeNetConfig(parallel="dp"), 0, "parallel=dp needs two GPUs, the largest node has 0"),
        (LeNetConfig(parallel="dp"), 1, "needs 2 GPUs, the largest node has 1"),
        (LeNetConfig(parallel="dp", device="cpu"), 2, "parallel=dp needs two GPUs, and device=cpu"),
        (LeNetConfig(parallel="dp"), 2, None),
        (LeNetConfig(parallel="ddp", ranks=2, device="cuda"), 1, "needs 2 GPUs, the largest"),
        (LeNetConfig(parallel="ddp"), 0, "parallel=ddp needs ranks of at least 2"),
        (LeNetConfig(parallel="dp", compile=True), 2, "compile=True does not go with parallel=dp"),
        (LeNetConfig(pin_memory=True, non_blocking=True), 1, None),
    ],
)
def test_what_cannot_run_says_why(config: LeNetConfig, gpus: int, reason: str | None) -> None:
    found = lenet.infeasible(config, machine(gpus))
    assert found is None if reason is None else found is not None and reason in found


@pytest.mark.parametrize("variable", ["CXX", "CC"])
def test_compiling_needs_a_compiler(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "no-such-compiler")
    found = lenet.infeasible(LeNetConfig(compile=True), machine(gpus=variable == "CC"))
    assert found is not None
    assert f"or name one in ${variable}" in found


class OneTrial:
    """Conductor that hands out one trial and keeps its results.

    Attributes:
        results: Outcome of the trial.
        notes: What the user is told.
        ranks: The processes that trained when it reported: children of the fork server.
    """

    interrupted = False

    def __init__(self, launch: Launch, *, stop: bool) -> None:
        """With ``stop`` it ends at its first report."""
        self._launches = [launch]
        self._stop = stop
        self.results: list[TrialResult] = []
        self.notes: list[str] = []
        self.ranks: list[psutil.Process] = []

    def next_launch(self) -> Launch | None:
        return self._launches.pop() if self._launches else None

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None: ...

    def reported(self, trial: Trial, report: Report) -> bool:
        below = psutil.Process().children(recursive=True)
        self.ranks = [process for process in below if process.ppid() != os.getpid()]
        return self._stop

    def finished(self, trial: Trial, result: TrialResult) -> None:
        self.results.append(result)

    def waiting(self, trial: Trial, seconds: float, what: str) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)

    def tick(self) -> None: ...


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_share_odd_batches_count_each_image_once(rank: int) -> None:
    config = quick(batch_size=131, parallel="ddp", ranks=2)
    reports = Reports()
    run = Run(context(DIGITS, rank=rank, world_size=2), reports)
    batches = batches_of(image_splits(run, config).train, config, run)
    for _ in run.epochs():
        for _batch in run.batches(batches.epoch(0), samples=num_samples):
            pass
        run.report(train_loss=0.0)
    assert run.rank != 0 or reports.kept[-1].samples == 1317
    assert sum(block.samples for block in run.recording().blocks) == 1317


def run_inline(config: LeNetConfig, scratch: Path, *, epochs: int, stop: bool) -> OneTrial:
    """A trial of digits in a fresh process, as a sweep starts it; what is left of it after."""
    trial = Trial(
        id="one", stage=Stage.TRAIN, config=values_of(config), budget=Budget(epochs=epochs), seed=0
    )
    demand = lenet.demand(config, machine())
    conductor = OneTrial(
        Launch(
            trial=trial,
            needs=Needs(
                source=Source(module="trainables.lenet", attribute="lenet"),
                data="digits",
                folders=DataFolders.default(scratch),
                fingerprint="",
            ),
            demand=demand,
            num_cores=demand.ranks,
            isolation=Isolation.SHARED,
            preload=tuple(lenet.preload),
            limits=Limits(time_limit_s=100),
            scratch=scratch,
        ),
        stop=stop,
    )
    executor = InlineExecutor()
    try:
        executor.run(conductor)
    finally:
        executor.close()
    return conductor


def test_ranks_that_are_stopped_early_leave_nothing(tmp_path: Path) -> None:
    stopped = run_inline(quick(parallel="ddp", ranks=2), tmp_path, epochs=99, stop=True)
    _, alive = psutil.wait_procs(stopped.ranks, timeout=2)
    assert [result.state for result in stopped.results] == [TrialState.STOPPED]
    assert stopped.results[0].metrics["epochs"] == 1
    assert len(stopped.ranks) == 2
    assert alive == []


@pytest.mark.gpu
def test_a_trial_on_a_gpu_is_a_row_with_the_gpu_s_name_and_figures(tmp_path: Path) -> None:
    done = run_inline(quick(device="cuda"), tmp_path, epochs=30, stop=False)
    assert [(result.state, result.reason) for result in done.results] == [
        (TrialState.COMPLETED, "")
    ], done.notes
    assert done.results[0].device == torch.cuda.get_device_name(0)
    metrics = done.results[0].metrics
    assert metrics["epochs"] == 30
    assert metrics["samples_per_s"] > 0
    assert metrics["peak_gpu_gib"] > 0
    if importlib.util.find_spec("pynvml") is not None:
        assert metrics["gpu_memory_gib"] >= metrics["peak_gpu_gib"]


def figures_of_ddp(run_cli: RunCli, *more: str) -> dict[str, float]:
    """After 20 steps of two ranks."""
    arguments = "--batch-size 131 --lr 0.05 --data-path batched --epochs 2 --steps 20 --data digits"
    finished = run_cli(
        *arguments.split(), "--parallel", "ddp", "--ranks", "2", *more, module="trainables.lenet"
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    words = [line.split()[:2] for line in finished.stdout.splitlines() if len(line.split()) > 1]
    return {name: float(figure) for name, figure in words if name in FIGURES}


FIGURES = ("steps", "train_loss", "val_acc")


def assert_learned_what_one_process_learns(
    figures: Mapping[str, float], *, drop_last: bool = False
) -> None:
    config = quick(batch_size=131, data_path="batched", drop_last=drop_last)
    alone = train_once(lenet, config, context(DIGITS, epochs=2, steps=20))
    assert figures["steps"] == 20
    assert figures["train_loss"] == pytest.approx(alone.metric("train_loss")[-1], abs=1e-3)
    assert figures["val_acc"] == pytest.approx(alone.metric("val_acc")[-1], abs=0.02)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=ON_TWO_GPUS)])
def test_ddp_learns_what_one_process_learns(device: str, run_cli: RunCli) -> None:
    assert_learned_what_one_process_learns(figures_of_ddp(run_cli, "--device", device))


@pytest.mark.slow
@pytest.mark.timeout(400)  # each rank runs a compiler
def test_compiled_ranks_learn_what_one_process_learns(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "compiled"))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no pool of compiling processes
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "0")  # scalar code is compiled faster
    # Without a smaller last batch there is one shape to compile for.
    figures = figures_of_ddp(run_cli, "--compile", "true", "--drop-last", "true")
    assert_learned_what_one_process_learns(figures, drop_last=True)
    assert list((tmp_path / "compiled").rglob("*.so"))


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=ON_TWO_GPUS)])
def test_dp_learns_what_one_device_learns(device: str) -> None:
    where = context(DIGITS, epochs=2, steps=20, device=device)
    alone = train_once(lenet, quick(device=device, batch_size=131), where)
    both = train_once(lenet, quick(device=device, batch_size=131, parallel="dp"), where)
    for name in ("train_loss", "val_acc"):
        assert both.metric(name)[-1] == pytest.approx(alone.metric(name)[-1], rel=0.02)

"""Measurements that need a GPU: phases on the device's time line, and what bounds a trial there."""

import time
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

from orchestrator.measurement.ceilings import measure_ceilings
from orchestrator.measurement.run import Context, Phase, Run
from orchestrator.trial import Budget, Report

pytestmark = pytest.mark.gpu


class Last:
    report_: Report

    def report(self, report: Report) -> bool:
        self.report_ = report
        return False


Train = Callable[[Run], None]


def train_of(
    *, width: int, copied_mib: int = 0, step_python_ms: float = 0.0, reads_back: bool = False
) -> Train:
    """A training with batches on the device, or with ``copied_mib`` in host memory."""

    def train(run: Run) -> None:
        with torch.device(run.device):  # at once: a copy of it would take longer than the training
            model = nn.Sequential(*[nn.Linear(width, width) for _ in range(4)])
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
        run.watch(model, optimizer)
        here = torch.randn(256, width, device=run.device)
        extra = torch.empty(copied_mib * 2**20, dtype=torch.uint8)

        def batches() -> Iterator[torch.Tensor]:
            for _ in range(50):
                yield extra

        for _ in run.epochs():
            for batch in run.batches(batches(), samples=lambda _: 256):
                with run.phase(Phase.TRANSFER):
                    batch.to(run.device)
                loss = model(here).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                time.sleep(step_python_ms / 1000)
                if reads_back:
                    loss.item()
            run.report()

    return train


@pytest.fixture(autouse=True, scope="module")
def _device_is_set_up() -> None:
    """A trial's set-up, the device's and the imports', is longer than these trainings are."""
    train_of(width=8)(Run(Context(seed=0, budget=Budget(epochs=1), device="cuda:0"), Last()))


def trained(train: Train) -> tuple[Report, dict[str, str]]:
    channel = Last()
    run = Run(Context(seed=0, budget=Budget(epochs=8), device="cuda:0"), channel)
    train(run)
    found = measure_ceilings(train, run)
    return channel.report_, dict(found.tags)


def test_phases_partition_the_step_and_the_host_is_separate() -> None:
    report, _ = trained(train_of(width=4096))
    figures = report.metrics
    names = ("wait", "transfer", "forward", "backward", "optimizer")
    parts = sum(figures[f"{name}_ms"] for name in names)
    assert parts == pytest.approx(figures["step_ms"], rel=0.03)
    assert 0 < figures["host_ms"] < figures["step_ms"], "the host runs ahead"


@pytest.mark.parametrize(
    ("train", "bound"),
    [
        (train_of(width=8192), "compute"),
        (train_of(width=8192, reads_back=True), "compute"),
        (train_of(width=64, copied_mib=256), "transfer"),
        (train_of(width=8), "host"),
        (train_of(width=64, step_python_ms=2.0), "host"),
    ],
)
def test_names_what_bounds_a_trial(train: Train, bound: str) -> None:
    _, tags = trained(train)
    assert tags["bound"] == bound


@pytest.mark.parametrize("waits", [False, True], ids=["stream", "thread"])
def test_copies_that_overlap_steps_are_named_where_they_bind(waits: bool) -> None:
    pinned = torch.empty(256 * 2**20, dtype=torch.uint8).pin_memory()

    def train(run: Run) -> None:
        stream = torch.cuda.Stream(run.device)
        model = nn.Linear(64, 64).to(run.device)
        here = torch.randn(256, 64, device=run.device)

        def batches() -> Iterator[torch.Tensor]:
            for _ in range(50):
                with torch.cuda.stream(stream), run.copying(stream, is_waited_for=waits):
                    there = pinned.to(run.device, non_blocking=True)
                if waits:
                    stream.synchronize()
                yield there

        for _ in run.epochs():
            for batch in run.batches(batches(), samples=lambda _: 256):
                with run.phase(Phase.TRANSFER):
                    torch.cuda.current_stream().wait_stream(stream)
                    batch.record_stream(torch.cuda.current_stream())
                with run.phase(Phase.FORWARD):
                    model(here)
            run.report()

    _, tags = trained(train)
    assert tags["bound"] == "transfer"


def test_copies_on_a_separate_stream_are_reported_with_the_steps() -> None:
    channel = Last()
    run = Run(Context(seed=0, budget=Budget(epochs=2), device="cuda:0"), channel)
    stream = torch.cuda.Stream(run.device)
    pinned = torch.empty(64 * 2**20, dtype=torch.uint8).pin_memory()
    for _ in run.epochs():
        for _ in run.batches(range(20), samples=lambda _: 1):
            with torch.cuda.stream(stream), run.copying(stream):
                pinned.to(run.device, non_blocking=True)
        run.report()
    # 64 MiB take 1 to 30 ms over any bus in use.
    assert 0.5 < channel.report_.metrics["copy_ms"] < 60

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from orchestrator.measurement.run import Context, Phase, Run
from orchestrator.trial import Budget, Report

Step = Callable[[torch.Tensor], None]
BUDGET = Budget(epochs=3)
NAMES = ("forward_ms", "backward_ms", "optimizer_ms")


class Last:
    metrics: dict[str, float]

    def report(self, report: Report) -> bool:
        self.metrics = dict(report.metrics)
        return False


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.Linear(1024, 8))


def trained(
    step_of: Callable[[Run, nn.Module, torch.optim.Optimizer], Step], *, watch: bool
) -> dict[str, float]:
    """Figures of a run in which ``step_of`` makes what each step does."""
    channel, model = Last(), network()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    run = Run(Context(seed=0, budget=BUDGET), channel)
    if watch:
        run.watch(model, optimizer)
    step = step_of(run, model, optimizer)
    for _ in run.epochs():
        model(torch.randn(8, 256)).sum().backward()  # between epochs: nobody's phase
        for batch in run.batches(list(torch.randn(40, 256, 256)), samples=len):
            step(batch)
        run.report()
    return channel.metrics


def plain(run: Run, model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
    def step(batch: torch.Tensor) -> None:
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def named(run: Run, model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
    def step(batch: torch.Tensor) -> None:
        with run.phase(Phase.FORWARD):
            loss = model(batch).square().mean()
        with run.phase(Phase.BACKWARD):
            loss.backward()
        with run.phase(Phase.OPTIMIZER):
            optimizer.step()
            optimizer.zero_grad()

    return step


def test_hooks_and_names_tell_the_same() -> None:
    by_hooks, by_names = trained(plain, watch=True), trained(named, watch=False)
    for name in NAMES:
        share = by_hooks[name] / by_hooks["step_ms"]
        assert share == pytest.approx(by_names[name] / by_names["step_ms"], abs=0.06), name


@pytest.mark.parametrize(("step_of", "watch"), [(plain, True), (named, False)])
def test_phases_add_up_to_the_step(
    step_of: Callable[[Run, nn.Module, torch.optim.Optimizer], Step], watch: bool
) -> None:
    figures = trained(step_of, watch=watch)
    parts = sum(figures[name] for name in (*NAMES, "wait_ms"))
    assert parts == pytest.approx(figures["step_ms"], rel=0.03)


def test_steps_of_other_shapes_are_told_apart() -> None:
    def odd(run: Run, model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        second = torch.optim.SGD(model.parameters(), lr=0.0)
        run.watch(nn.Identity(), second)
        counted = {"steps": 0}

        def step(batch: torch.Tensor) -> None:
            counted["steps"] += 1
            with torch.no_grad():
                model(batch)
            (model(batch) + model(-batch)).square().mean().backward()
            if counted["steps"] % 2:  # gradients accumulate over two steps
                optimizer.step()
                optimizer.zero_grad()

        return step

    figures = trained(odd, watch=True)
    parts = sum(figures[name] for name in (*NAMES, "wait_ms"))
    assert parts <= figures["step_ms"]
    assert parts == pytest.approx(figures["step_ms"], rel=0.15)
    assert figures["forward_ms"] > 0.5 * figures["backward_ms"], "three passes to two"


def test_outputs_may_be_nested() -> None:
    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, batch: torch.Tensor) -> dict[str, list[torch.Tensor]]:
            return {"scores": [self.inner(batch)]}

    def nested(run: Run, model: nn.Module, optimizer: torch.optim.Optimizer) -> Step:
        outer = Nested()
        own = torch.optim.SGD(outer.parameters(), lr=1e-3)
        run.watch(outer, own)

        def step(batch: torch.Tensor) -> None:
            outer(batch)["scores"][0].square().mean().backward()
            own.step()
            own.zero_grad()

        return step

    figures = trained(nested, watch=False)
    parts = sum(figures[name] for name in (*NAMES, "wait_ms"))
    assert parts == pytest.approx(figures["step_ms"], rel=0.05)

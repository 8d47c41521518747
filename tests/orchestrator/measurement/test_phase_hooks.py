"""Phases from hooks, of a network and optimizers that take a known time."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from orchestrator.measurement.run import Phase, Run
from tests.orchestrator.measurement.fakes import FakeClock, Listener, context

Step = Callable[[torch.Tensor], None]
StepOf = Callable[[Run, FakeClock], Step]
NAMES = ("forward_ms", "backward_ms", "optimizer_ms")
FORWARD_S, BACKWARD_S, OPTIMIZER_S = 0.003, 0.005, 0.002


class _Slow(torch.autograd.Function):
    """Identity with slow passes."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, clock: FakeClock) -> torch.Tensor:  # noqa: ANN401
        ctx.clock = clock
        clock.sleep(FORWARD_S)
        return rows.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:  # noqa: ANN401 - torch's own
        ctx.clock.sleep(BACKWARD_S)
        return gradients[0], None


class Network(nn.Module):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self._linear = nn.Linear(4, 2)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        # Last, so that its backward pass is the first part of the whole one.
        return _Slow.apply(self._linear(rows), self._clock)


class Optimizer(torch.optim.SGD):
    def __init__(self, clock: FakeClock, model: nn.Module) -> None:
        super().__init__(model.parameters(), lr=1e-3)
        self._clock = clock

    def step(self, closure: Any = None) -> Any:  # noqa: ANN401
        self._clock.sleep(OPTIMIZER_S)
        return super().step(closure)


def trained(step_of: StepOf) -> dict[str, float]:
    """Figures of a run in which ``step_of`` makes what each step does."""
    clock, listener = FakeClock(), Listener()
    run = Run(context(), listener, clock=clock)
    step = step_of(run, clock)
    for _ in run.epochs():
        step(torch.ones(2, 4))  # between epochs: in no step's phases
        for batch in run.batches([torch.ones(2, 4)] * 6, samples=len):
            step(batch)
            clock.sleep(0.001)
        run.report()
    return listener.metrics


class Nested(nn.Module):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.inner = Network(clock)

    def forward(self, batch: torch.Tensor) -> dict[str, list[torch.Tensor]]:
        return {"scores": [self.inner(batch)]}


def hooked(
    kind: Callable[[FakeClock], nn.Module] = Network, *, num_optimizers: int = 1, every: int = 1
) -> StepOf:
    """Make steps of a watched model with optimizers that are due every so many steps."""

    def step_of(run: Run, clock: FakeClock) -> Step:
        model = kind(clock)
        optimizers = [Optimizer(clock, model) for _ in range(num_optimizers)]
        run.watch(model, *optimizers)
        numbers = itertools.count(1)

        def step(batch: torch.Tensor) -> None:
            made = model(batch)
            scores = made["scores"][0] if isinstance(made, dict) else made
            scores.square().mean().backward()
            if next(numbers) % every == 0:
                for optimizer in optimizers:
                    optimizer.step()

        return step

    return step_of


def named(run: Run, clock: FakeClock) -> Step:
    model = Network(clock)
    optimizer = Optimizer(clock, model)

    def step(batch: torch.Tensor) -> None:
        with run.phase(Phase.FORWARD):
            loss = model(batch).square().mean()
        with run.phase(Phase.BACKWARD):
            loss.backward()
        with run.phase(Phase.OPTIMIZER):
            optimizer.step()
            optimizer.zero_grad()

    return step


@pytest.mark.parametrize("step_of", [named, hooked(), hooked(Nested)])
def test_names_and_hooks_report_the_same(step_of: StepOf) -> None:
    figures = trained(step_of)
    assert [figures[name] for name in NAMES] == pytest.approx([3, 5, 2])
    assert figures["step_ms"] == pytest.approx(3 + 5 + 2 + 1)


def test_passes_without_gradients_and_second_passes_count_as_forward() -> None:
    def step_of(run: Run, clock: FakeClock) -> Step:
        model = Network(clock)
        optimizer = Optimizer(clock, model)
        run.watch(model, optimizer)

        def step(batch: torch.Tensor) -> None:
            with torch.no_grad():
                model(batch)
            (model(batch) + model(-batch)).square().mean().backward()
            optimizer.step()

        return step

    figures = trained(step_of)
    assert [figures[name] for name in NAMES] == pytest.approx([3 * 3, 2 * 5, 2])


def test_steps_that_accumulate_gradients_have_no_optimizer() -> None:
    figures = trained(hooked(every=3))
    assert figures["forward_ms"] == pytest.approx(3)
    assert figures["backward_ms"] == pytest.approx(5)
    assert 0 < figures["optimizer_ms"] < 2


def test_two_optimizers_are_one_phase() -> None:
    assert trained(hooked(num_optimizers=2))["optimizer_ms"] == pytest.approx(2 * 2)

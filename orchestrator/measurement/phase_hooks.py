"""Hooks on a model and its optimizers that mark the phases of a step, for a loop that names none.

::

    forward           backward            optimizer
    |-----------------|-------------------|-----------------|
    model is called   gradient of what    backward pass     optimizer.step
                      it returned         has ended         has returned

So the loss belongs to forward, and with it the first moments of its backward pass;
clipping and unscaling gradients belong to optimizer. Forward passes without gradients
within a step count as forward, those outside of steps not at all.

PyTorch has no hook for the end of a whole backward pass. A callback queued in the autograd engine
from within the pass, as DistributedDataParallel does it, is called when the pass is done.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import torch
from torch import nn

from orchestrator.measurement.blocks import Phase
from orchestrator.measurement.clocks import Mark
from orchestrator.measurement.step_timer import StepTimer


class PhaseHooks:
    """Hooks that mark the phases of each step of a timer.

    Args:
        timer: Timer of the steps.
        model: What the step calls: the outermost wrapper, if there are any.
        optimizers: All that the step uses.
    """

    def __init__(
        self, timer: StepTimer, model: nn.Module, *optimizers: torch.optim.Optimizer
    ) -> None:
        self._timer = timer
        self._step: object = None
        self._open: Phase | None = None
        self._since: Mark = None
        model.register_forward_pre_hook(self._forward_begins)
        model.register_forward_hook(self._forward_ends)
        for optimizer in optimizers:
            optimizer.register_step_post_hook(self._optimizer_ends)

    def _forward_begins(self, *_: object) -> None:
        if self._timer.step is None:
            self._open = None
        elif self._step is not self._timer.step or self._open is not Phase.FORWARD:
            # The open phase is another step's, or of an optimizer that took no step.
            self._step, self._open, self._since = (
                self._timer.step, Phase.FORWARD, self._timer.mark(),
            )  # fmt: skip

    def _forward_ends(self, _model: object, _inputs: object, outputs: object) -> None:
        if self._open is not Phase.FORWARD:
            return
        to_differentiate = [tensor for tensor in _tensors(outputs) if tensor.requires_grad]
        for tensor in to_differentiate:
            tensor.register_hook(self._backward_begins)
        if not to_differentiate:
            self._switch_to(None)

    def _backward_begins(self, _gradient: torch.Tensor) -> None:
        if self._open is Phase.FORWARD:
            # The hook is on every output: the first gradient to come begins the phase.
            self._switch_to(Phase.BACKWARD)
            engine: Any = cast("Any", torch.autograd.Variable)._execution_engine
            engine.queue_callback(self._backward_ends)

    def _backward_ends(self) -> None:
        if self._open is Phase.BACKWARD:
            self._switch_to(Phase.OPTIMIZER)

    def _optimizer_ends(self, *_: object) -> None:
        if self._open is Phase.OPTIMIZER:
            # Left open for a second optimizer; without one it never counts.
            self._switch_to(Phase.OPTIMIZER)

    def _switch_to(self, phase: Phase | None) -> None:
        """End the open phase, count it if its step is still the current one, and open another."""
        now = self._timer.mark()
        assert self._open is not None
        if self._timer.step is not None and self._timer.step is self._step:
            self._timer.add_phase(self._open, self._since, now)
        self._open, self._since = phase, now


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)

"""Compilation by torch.compile, once for all trainables."""

from __future__ import annotations

import os
import shutil
from functools import cache
from typing import Literal, cast

import torch
from torch import nn

from orchestrator import Machine, knobs, systems
from trainables.graph.places.placement import PlacementKnobs
from trainables.settings import ProcessKnobs, needs_cuda, uses_cuda

Compile = Literal["off", "default", "reduce-overhead", "max-autotune"]


@knobs
class CompileKnobs:
    """Knobs of compilation."""

    compile: Compile = systems(
        default="off",
        doc="train through torch.compile in one of its modes: the usual one; CUDA graphs, which "
        "are recorded once for each shape; or with kernels chosen by timing them, for minutes. "
        "With dropout it draws other numbers",
    )


def compiled(network: nn.Module, mode: Compile, *, is_one_shape: bool = True) -> nn.Module:
    """``network`` as a step calls it.

    Args:
        network: The network to train, on its device.
        mode: Mode of ``torch.compile``, or ``off``.
        is_one_shape: Whether an epoch's batches have one shape, but for its last one; otherwise
            one program is compiled for all shapes.
    """
    if mode == "off":
        return network
    return cast("nn.Module", torch.compile(network, mode=mode, dynamic=not is_one_shape))


def compiling_needs_a_compiler(config: CompileKnobs, machine: Machine) -> str | None:
    """The constraint on ``compile``, for configs with ``ProcessKnobs``."""
    if config.compile == "off" or not isinstance(config, ProcessKnobs):
        return None
    # torch's own backends look for the same: Triton on GPUs, C++ on CPUs.
    usual, variable = ("gcc", "CC") if uses_cuda(config, machine) else ("g++", "CXX")
    if not _on_path(os.environ.get(variable, usual)):
        named = f"install {usual}, or name one in ${variable}"
        return f"compile={config.compile} needs a compiler: {named}"
    return None


@cache
def _on_path(program: str) -> bool:
    return shutil.which(program) is not None


def compiles_sampled_batches_once(config: CompileKnobs, _machine: Machine) -> str | None:
    """The constraint on ``compile``, for configs with ``PlacementKnobs``."""
    is_sampled = isinstance(config, PlacementKnobs) and config.is_sampled()
    if not is_sampled or config.compile in ("off", "default"):
        return None
    return (
        f"compile={config.compile} starts anew with each shape, and each sampled batch has its own"
    )


COMPILE_CONSTRAINTS = (
    compiling_needs_a_compiler,
    compiles_sampled_batches_once,
    needs_cuda("compile", "reduce-overhead", why="what it saves is the launch of kernels"),
)
"""Constraints of :class:`CompileKnobs`."""

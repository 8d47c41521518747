"""Config classes for the tests of knobs, configs and domains."""

from __future__ import annotations

from typing import Literal

from orchestrator.space.declare import both, knobs, learning, systems


@knobs
class Loader:
    """A group of knobs, for others to derive from."""

    workers: int = systems(default=0, ge=0, le=64, doc="loader processes")
    prefetch: int = systems(default=2, ge=1, doc="ahead", applies=lambda c: c.workers > 0)
    persistent: bool = systems(default=False, doc="kept", applies=lambda c: c.workers > 0)


@knobs
class Process:
    """Another group."""

    amp: Literal["off", "bf16"] = both(default="off", doc="precision")
    threads: int = systems(default=0, ge=0, unit="threads", doc="threads")


@knobs
class Config(Process, Loader):
    """What a trainable would have."""

    lr: float = learning(default=0.1, gt=0, lt=10, doc="step size")
    name: str = both(default="adam", doc="optimizer")
    fanouts: tuple[int, ...] = both(default=(10, 25), ge=1, doc="neighbours")
    prefetch: int = systems(default=4, ge=1, doc="more", applies=lambda c: c.workers > 0)

"""Figures, durations and configs as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from orchestrator.formats import rate
from orchestrator.metric_table import unit_of
from orchestrator.storage.history import cell_text

SPEED: Final = "samples_per_s"
"""The metric that a trial's speed is read from."""


def speed(samples_per_s: float) -> str:
    """Return a trial's speed as ``41.2k samples/s``."""
    number, _, unit = rate(samples_per_s).partition(" ")
    return f"{number}{unit.removesuffix('/s')} samples/s"


def figure(metric: str, value: float) -> str:
    """Return a metric's value with its unit."""
    unit = unit_of(metric)
    if unit == "1/s":
        return rate(value)
    if metric.endswith(("_acc", "_auc")):
        return f"{value:.4f}"
    return f"{value:.4g} {unit}".rstrip()


def named_figure(metric: str, value: float) -> str:
    """Return a metric's value so that it can be read without a head: ``val_acc 0.8667``."""
    return speed(value) if metric == SPEED else f"{metric} {figure(metric, value)}"


def short(value: object) -> str:
    """Return a knob's value to be read: floats to three significant digits."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.3g}" if isinstance(value, float) else cell_text(value)


def settings(config: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    """Yield the named knobs of a config, each as ``num_workers=3``."""
    return (f"{name}={short(config[name])}" for name in names if name in config)


def differing(
    config: Mapping[str, Any], baseline: Mapping[str, Any], varied: Iterable[str]
) -> list[str]:
    """Return the varied knobs in which a config differs from the baseline.

    Args:
        config: A value for every knob.
        baseline: The config that is compared with, its values as JSON has them.
        varied: Names of the knobs that vary within the sweep.

    Returns:
        Each as ``num_workers=3``; for the baseline itself the one word ``baseline``.
    """
    unlike = [name for name in varied if _plain(config.get(name)) != _plain(baseline.get(name))]
    return list(settings(config, unlike)) or ["baseline"]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|.)")
_CONTROLS = re.compile(r" *[\x00-\x1f\x7f-\x9f]+ *")


def printable(text: str) -> str:
    """Return text of a trial or a library without what would move a terminal's cursor."""
    return _CONTROLS.sub(" ", _ESCAPES.sub("", text))

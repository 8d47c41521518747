"""Sizes of generated sets, as a share of the real one's: ``name@0.1``."""

from __future__ import annotations

import math

from orchestrator.errors import DataError


def parse_scale(name: str, variant: str, smallest: float) -> float:
    """The scale in ``name@variant``.

    Raises:
        DataError: It is no number from ``smallest`` to 1.
    """
    try:
        scale = float(variant)
    except ValueError:
        scale = math.nan
    if not smallest <= scale <= 1:
        raise DataError(
            f"{name}@{variant}: {variant!r} is no scale",
            f"allowed: a number from {smallest:g} to 1, {name}@0.1 say",
        )
    return scale


def scaled_name(name: str, scale: float, default: float) -> str:
    """``name@scale``, or ``name`` where it is the default one."""
    return name if scale == default else f"{name}@{scale:g}"

"""The refusal of a sweep file."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SweepError
from orchestrator.sweep.loading import load_sweep


def refusal(path: Path) -> SweepError:
    with pytest.raises(SweepError) as refused:
        load_sweep(path)
    return refused.value

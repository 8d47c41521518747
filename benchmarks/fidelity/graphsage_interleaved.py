"""The runs of ``graphsage.py`` in turns, every other with a neighbour."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.fidelity.graphsage import SWEEP as ONE_AFTER_ANOTHER
from benchmarks.fidelity.interleaved import InTurns

SWEEP = replace(ONE_AFTER_ANOTHER, search=InTurns())

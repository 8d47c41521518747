"""The runs of ``graphsage.py`` interleaved with runs of the other config."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.fidelity.graphsage import SWEEP as ONE_AFTER_ANOTHER
from benchmarks.fidelity.interleaved import InterleavedRuns

SWEEP = replace(ONE_AFTER_ANOTHER, search=InterleavedRuns())

"""The runs of ``lenet.py`` interleaved with runs of the other config."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.fidelity.interleaved import InterleavedRuns
from benchmarks.fidelity.lenet import SWEEP as ONE_AFTER_ANOTHER

SWEEP = replace(ONE_AFTER_ANOTHER, search=InterleavedRuns())

"""The runs of ``lenet.py`` in turns, every other with a neighbour."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.fidelity.interleaved import InTurns
from benchmarks.fidelity.lenet import SWEEP as ONE_AFTER_ANOTHER

SWEEP = replace(ONE_AFTER_ANOTHER, search=InTurns())

"""Recording: the curves of ``sweeps/products_tuning.py`` where a training takes half a minute."""

from dataclasses import replace

from benchmarks.search.recorded import LONG_PRODUCTS_TUNING
from benchmarks.search.recording.made import curves_of

_CURVES = curves_of(
    LONG_PRODUCTS_TUNING, num_workers=0, prefetch_factor=2, persistent_workers=False
)
SWEEP = replace(_CURVES, rigor=replace(_CURVES.rigor, repeats=2, max_repeats=2))
"""With two seeds each: a curve takes a core a minute and more."""

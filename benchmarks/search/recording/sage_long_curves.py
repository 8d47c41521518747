"""Recording: the curves of ``sweeps/products_tuning.py`` where a training takes half a minute."""

from dataclasses import replace

from benchmarks.search.recording.made import curves_of
from sweeps.products_tuning import SWEEP as PRODUCTS_TUNING

TUNING = replace(PRODUCTS_TUNING, epochs=200)

SWEEP = curves_of(TUNING, num_workers=0, prefetch_factor=2, persistent_workers=False)

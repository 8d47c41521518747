"""Recording: the curves of ``sweeps/products_tuning.py`` where a training takes half a minute."""

from benchmarks.search.recorded import LONG_PRODUCTS_TUNING
from benchmarks.search.recording.made import curves_of

SWEEP = curves_of(LONG_PRODUCTS_TUNING, num_workers=0, prefetch_factor=2, persistent_workers=False)

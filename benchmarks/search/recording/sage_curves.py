"""Recording: every learning curve of ``sweeps/products_tuning.py``, without loader workers."""

from benchmarks.search.recording.made import curves_of
from sweeps.products_tuning import SWEEP as TUNING

SWEEP = curves_of(TUNING, num_workers=0, prefetch_factor=2, persistent_workers=False)

"""Recording: the speed of every setting of ``sweeps/products_tuning.py``."""

from benchmarks.search.recording.made import speeds_of
from sweeps.products_tuning import SWEEP as TUNING

SWEEP = speeds_of(TUNING, lr=3e-3)

"""Recording: the speed of every setting of ``sweeps/mnist_tuning.py``."""

from benchmarks.search.recording.made import speeds_of
from sweeps.mnist_tuning import SWEEP as TUNING

SWEEP = speeds_of(TUNING, lr=1e-3, momentum=0.9)

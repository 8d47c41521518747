"""Recording: every curve of ``sweeps/mnist_tuning.py``, from resident data: the same batches."""

from benchmarks.search.recording.made import curves_of
from sweeps.mnist_tuning import SWEEP as TUNING

SWEEP = curves_of(
    TUNING,
    data_path="resident",
    num_workers=0,
    prefetch_factor=2,
    persistent_workers=False,
    channels_last=False,
)

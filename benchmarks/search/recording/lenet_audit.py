"""Recording: configs drawn from the 200 of ``lenet_200.py``, from end to end."""

from benchmarks.search.recording.lenet_200 import SWEEP as LENET_200
from benchmarks.search.recording.made import audit_of

SWEEP = audit_of(LENET_200, num_configs=25)

"""The 200 configs of the smaller truth of LeNet, searched for real."""

from dataclasses import replace

from benchmarks.search.recorded import LENET_200
from orchestrator.space.configs import replaced
from sweeps.mnist_tuning import SWEEP as TUNING

SWEEP = replace(
    TUNING,
    space=replaced(TUNING.space, LENET_200),
    baseline=replaced(TUNING.baseline, LENET_200),
)

"""Size of the effect that the interference check finds.

    python -m benchmarks.analysis.interference

Simulates the check: configs that are trained isolated and co-located in three rounds, with a noise
from run to run that is the same for all. Prints a markdown table: for each noise the smallest loss
of speed that is shown in 80 of 100 checks, and in how many of 100 checks an effect is shown where
there is none. Needs a few seconds, and no training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from orchestrator.analysis.rule import TIE_MARGIN
from orchestrator.analysis.statistics.interference import Interference
from orchestrator.arguments import Parser, whole_number
from orchestrator.search.stages.interference import ROUNDS

POWER: Final = 0.8
"""Share of the checks in which the effect is to be shown."""
NOISES: Final = (0.005, 0.01, 0.02, 0.03, 0.05)
"""Standard deviations of a run's speed, as shares of it."""
STEP: Final = 0.005
"""Resolution of the effect's size."""
NUM_CHECKS: Final = 2000
HEADER: Final = (
    "| noise of a run | configs | shown in 80 of 100 checks | shown of 100 without an effect |\n"
    "| --- | --- | --- | --- |"
)


def share_shown(loss: float, noise: float, num_configs: int) -> float:
    """Return the share of checks that show an effect.

    Args:
        loss: Loss of speed of a co-located run, as a share.
        noise: Standard deviation of a run's speed, as a share.
        num_configs: Configs that are checked.
    """
    rng = np.random.default_rng(0)
    size = (NUM_CHECKS, ROUNDS * num_configs)
    differences = math.log1p(-loss) + math.sqrt(2) * noise * rng.standard_normal(size)
    checks = (
        Interference.of(row, num_configs=num_configs, tie_margin=TIE_MARGIN) for row in differences
    )
    return sum(check.is_shown for check in checks) / NUM_CHECKS


def smallest_shown(noise: float, num_configs: int) -> float:
    """Return the smallest loss of speed, in steps of :data:`STEP`, that is shown often enough."""
    loss = STEP
    while share_shown(loss, noise, num_configs) < POWER:
        loss += STEP
    return loss


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = Parser(description=__doc__.partition("\n")[0])
    parser.add_argument("--configs", type=whole_number(1), default=2, help="as check_isolated=")
    options = parser.parse_args(arguments)
    print(HEADER)
    for noise in NOISES:
        loss = smallest_shown(noise, options.configs)
        without = share_shown(0.0, noise, options.configs)
        print(f"| {noise:.1%} | {options.configs} | {loss:.1%} | {100 * without:.1f} |", flush=True)


if __name__ == "__main__":
    main()

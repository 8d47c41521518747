"""How often a difference is claimed that is not there, and how often one is missed.

    python -m benchmarks.comparisons

Simulated, so that the truth is known: each run has steps with noise of their own, measured
in blocks as a trial's are, and a speed of its own as fresh processes have. Two ways to be
told of a difference are tried: the claim of the confirm stage (paired ratio of a config and
the baseline, whose 95 % interval leaves out 1 and which exceeds the noise floor), and the
verdict against the best in a sweep of eight configs whose spread is pooled.

The promises: a config compared with itself, at a coefficient of variation between runs of
3 %, is called different in at most 5 of 100 cases; a config that is 5 % faster is found in
at least 80 of 100 with the repeats that the confirm stage makes by default. The second
holds only up to some noise; the tables say how many repeats which noise takes.
"""

from __future__ import annotations

import argparse
import inspect
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.best import Verdict, against_best
from analysis.comparable import GROUP
from analysis.intervals import log_interval
from analysis.noise import NoiseFloor, pairs_needed
from analysis.rule import Rule
from orchestrator.measurement.blocks import blocks_of
from orchestrator.measurement.phases import Step
from orchestrator.measurement.throughput import measure_throughput
from orchestrator.metrics import maximize
from orchestrator.sweep import Sweep
from orchestrator.trial import Stage

PLANTED: Final = 1.05
AA_CV: Final = 0.03
MOST_FALSE: Final = 0.05
LEAST_FOUND: Final = 0.80
CVS: Final = (0.01, 0.02, 0.03)
REPEATS: Final = tuple(range(3, 9))
DEFAULT_REPEATS: Final = int(inspect.signature(Sweep).parameters["confirm"].default)
NUM_CONFIGS: Final = 8
NUM_FOR_RATES: Final = 10_000

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
RULE: Final = Rule(speed=maximize("samples_per_s"), accuracy=maximize("val_acc"), tolerance=0.005)


@dataclass(frozen=True, kw_only=True)
class Noise:
    """What makes two runs of one config differ.

    Attributes:
        cv: Coefficient of variation of a run's figure over fresh processes.
        step_cv: The same of a step within a run; a part of ``cv`` comes from it.
        carried: How much of its deviation a step hands to the next: they are not independent.
        epochs: Epochs of a run.
        steps: Steps of an epoch.
    """

    cv: float
    step_cv: float = 0.03
    carried: float = 0.3
    epochs: int = 3
    steps: int = 40

    @property
    def process_sigma(self) -> float:
        """Deviation of a process's own log speed: what its steps leave of ``cv``."""
        correlated = (1 + self.carried) / (1 - self.carried)
        within = self.step_cv**2 * correlated / (self.epochs * self.steps)
        return math.sqrt(math.log1p(self.cv**2) - within)


def measured_log_rate(rng: np.random.Generator, noise: Noise) -> float:
    """Log throughput of one run of a true rate of 1, measured over its blocks as a trial's is."""
    speed = math.exp(noise.process_sigma * rng.standard_normal())
    fresh = rng.standard_normal(noise.epochs * noise.steps) * math.sqrt(1 - noise.carried**2)
    deviation, now, steps = 0.0, 0.0, []
    for index, value in enumerate(fresh.tolist()):
        deviation = noise.carried * deviation + value
        end = now + max(1 + noise.step_cv * deviation, 0.1) / speed
        epoch = index // noise.steps
        steps.append(Step(epoch=epoch, begin_s=now, end_s=end, samples=1, phases={}))
        now = end
    epochs = [steps[begin : begin + noise.steps] for begin in range(0, len(steps), noise.steps)]
    found = measure_throughput([block for epoch in epochs for block in blocks_of(epoch)])
    assert found is not None
    return math.log(found.rate)


def pairs_in_blocks(noise: Noise, *, num: int, seed: int) -> Floats:
    """Log speeds of two configs that are the same: (num, 2, most repeats)."""
    rng = np.random.default_rng([seed, round(1e6 * noise.cv)])
    shape = (num, 2, max(REPEATS))
    return np.array([measured_log_rate(rng, noise) for _ in range(math.prod(shape))]).reshape(shape)


def drawn(cv: float, *, num: int, configs: int, seed: int) -> Floats:
    """The same without the steps: figures with this spread, (num, configs, most repeats)."""
    rng = np.random.default_rng([seed, round(1e6 * cv), configs])
    return math.sqrt(math.log1p(cv**2)) * rng.standard_normal((num, configs, max(REPEATS)))


def planted(logs: Floats) -> Floats:
    """The first config of each slower than the others, by 5 %."""
    slower = logs.copy()
    slower[:, 0] -= math.log(PLANTED)
    return slower


def claimed(logs: Floats, repeats: int) -> Flags:
    """In which of them the confirm stage tells the second config from the first: (num,).

    Its claim: the interval of the paired ratio leaves out 1, and the ratio exceeds the
    noise floor, which the runs of the first, the baseline, give.
    """
    baseline, other = logs[:, 0, :repeats], logs[:, 1, :repeats]
    intervals = [log_interval(pairs) for pairs in np.exp(other - baseline)]
    is_shown = np.array([interval.low > 1 or interval.high < 1 for interval in intervals])
    is_covered = [
        _floor(runs).covers(interval.centre, num_runs=repeats)
        for runs, interval in zip(baseline, intervals, strict=True)
    ]
    return np.asarray(is_shown & ~np.array(is_covered))


def _floor(logs: Floats) -> NoiseFloor:
    return NoiseFloor(
        stage=Stage.CONFIRM,
        num_runs=len(logs),
        largest_ratio=math.exp(np.ptp(logs)),
        cv=math.sqrt(math.expm1(logs.var(ddof=1))),
        drift=None,
    )


def called_worse(logs: Floats, repeats: int) -> Flags:
    """Which configs of which sweep are called worse than its best: (num, configs)."""
    runs = logs[:, :, :repeats]
    num, configs = runs.shape[:2]
    pooled = runs.var(axis=2, ddof=1).mean(axis=1)
    table = pd.DataFrame(
        {
            RULE.speed_column: np.exp(runs.mean(axis=2)).ravel(),
            RULE.accuracy_column: 0.9,
            "variance": np.repeat(pooled / repeats, configs),
            "df": float(configs * (repeats - 1)),
            GROUP: np.repeat(np.arange(num), configs),
        }
    )
    verdicts = against_best(table, RULE)["verdict"].to_numpy()
    return np.asarray((verdicts == Verdict.WORSE).reshape(num, configs))


def measured_cv(logs: Floats) -> float:
    """Coefficient of variation over the runs of a config."""
    return math.sqrt(math.expm1(float(logs.var(axis=2, ddof=1).mean())))


def rate_of_claims(cv: float, *, is_planted: bool, seed: int) -> float:
    """How often the default repeats lead to a claim, over enough draws to be sure of it."""
    many = drawn(cv, num=NUM_FOR_RATES, configs=2, seed=seed)
    return float(claimed(planted(many) if is_planted else many, DEFAULT_REPEATS).mean())


def same_lines(same: Floats, *, num: int, seed: int) -> list[str]:
    """What becomes of configs that are compared with themselves."""
    verdicts = called_worse(drawn(AA_CV, num=num, configs=NUM_CONFIGS, seed=seed), DEFAULT_REPEATS)
    return [
        f"A config against itself, {100 * AA_CV:g} % between runs "
        f"(measured {100 * measured_cv(same):.1f} %), {DEFAULT_REPEATS} repeats:",
        f"- claim of the confirm stage: {claimed(same, DEFAULT_REPEATS).sum()} of {num} called "
        "different",
        f"- verdict in sweeps of {NUM_CONFIGS} equal configs: {verdicts.sum()} of "
        f"{num * (NUM_CONFIGS - 1)} called worse than the best, in "
        f"{verdicts.any(axis=1).sum()} of {num} sweeps",
    ]


def planted_lines(same: dict[float, Floats], *, num: int, seed: int) -> list[str]:
    """Two tables: how many planted differences are found at which noise, with how many runs."""
    claims = {cv: planted(logs) for cv, logs in same.items()}
    sweeps = {cv: planted(drawn(cv, num=num, configs=NUM_CONFIGS, seed=seed)) for cv in CVS}
    repeats = " | ".join(f"{n} repeats" for n in REPEATS)
    line = " --- |" * len(REPEATS)
    return [
        "\nA difference of 5 %, found in so many of 100 cases by the claim of the confirm stage "
        f"({DEFAULT_REPEATS} pairs by default):\n",
        f"| between runs | measured | {repeats} | pairs for 80 of 100 |",
        f"| --- | --- |{line} --- |",
        *(
            f"| {100 * cv:g} % | {100 * measured_cv(same[cv]):.1f} % | "
            + _shares([claimed(logs, n).mean() for n in REPEATS])
            + f" | {pairs_needed(cv)} |"
            for cv, logs in claims.items()
        ),
        f"\nThe same by the verdict in a sweep of {NUM_CONFIGS} configs, each repeated, one of "
        "them slower:\n",
        f"| between runs | {repeats} |",
        f"| --- |{line}",
        *(
            f"| {100 * cv:g} % | "
            + _shares([called_worse(logs, n)[:, 0].mean() for n in REPEATS])
            + " |"
            for cv, logs in sweeps.items()
        ),
    ]


def _shares(shares: Sequence[float]) -> str:
    return " | ".join(f"{100 * share:.0f}" for share in shares)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables; returns 1 where a promise is not kept at the least of the noises."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.comparisons", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--comparisons", type=int, default=100, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default %(default)s")
    options = parser.parse_args(arguments)
    num, seed = options.comparisons, options.seed
    same = {cv: pairs_in_blocks(Noise(cv=cv), num=num, seed=seed) for cv in CVS}
    print("\n".join(same_lines(same[AA_CV], num=num, seed=seed)))
    print("\n".join(planted_lines(same, num=num, seed=seed)))
    false_rate = rate_of_claims(AA_CV, is_planted=False, seed=seed)
    found = {cv: rate_of_claims(cv, is_planted=True, seed=seed) for cv in CVS}
    print(
        f"\nOver {NUM_FOR_RATES:,} draws without steps, {DEFAULT_REPEATS} repeats, by the claim:\n"
        f"- A/A at {100 * AA_CV:g} %: {100 * false_rate:.1f} % called different, promised at most "
        f"{100 * MOST_FALSE:g} %"
    )
    for cv, share in found.items():
        said = "kept" if share >= LEAST_FOUND else f"not kept, takes {pairs_needed(cv)} pairs"
        print(f"- 5 % planted at {100 * cv:g} %: {100 * share:.1f} % found, promised 80 %: {said}")
    return 0 if false_rate <= MOST_FALSE and max(found.values()) >= LEAST_FOUND else 1


if __name__ == "__main__":
    sys.exit(main())

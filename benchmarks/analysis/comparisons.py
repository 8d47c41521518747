"""Rates of false and of missed differences in the comparisons of a sweep.

    python -m benchmarks.analysis.comparisons

Simulated, so that the truth is known: each run has steps with noise of their own, measured
in blocks as a trial's are, and a speed of its own as fresh processes have. Two ways to be
told of a difference are tried: the claim of the confirm stage (the paired ratio of a config and
the baseline, whose 95 % interval leaves out 1 at an interim analysis, and which exceeds the
noise floor and the margin of a tie), and the verdict against the best in a sweep of eight configs
whose spread is pooled.

The promises: a config compared with itself, at a coefficient of variation between runs of
3 %, is called different in at most 5 of 100 cases; a config that is 5 % faster is found in
at least 80 of 100 at 1, 2 and 3 %, with the pairs that the confirm stage makes by default: more
where the noise is larger, up to its bound; and with the confidence that it has by default, shared
out over the finalists that it is about.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.against_best import Verdict, against_best
from orchestrator.analysis.statistics.intervals import t_quantile
from orchestrator.analysis.statistics.noise_floor import pairs_needed
from orchestrator.arguments import Parser
from orchestrator.measurement.blocks import blocks_of
from orchestrator.measurement.steps import Step
from orchestrator.measurement.throughput import measure_throughput
from orchestrator.metrics import maximize
from orchestrator.search.stages.interim_analyses import InterimAnalyses
from orchestrator.sweep.definition import Sweep

PLANTED: Final = 1.05
AA_CV: Final = 0.03
MOST_FALSE: Final = 0.05
LEAST_FOUND: Final = 0.80
CVS: Final = (0.01, 0.02, 0.03)
REPEATS: Final = (2, 3, 4, 5, 6, 8)
"""Runs of each config in a sweep."""
_DEFAULTS: Final = {n: p.default for n, p in inspect.signature(Sweep).parameters.items()}
ANALYSES: Final = InterimAnalyses(first=_DEFAULTS["confirm"], last=_DEFAULTS["max_confirm"])
"""When the confirm stage may end by default."""
FINALISTS: Final = int(_DEFAULTS["finalists"])
"""Configs that share its confidence by default; see
:func:`orchestrator.analysis.recommendation.pairs.confirm_level`."""
MOST_RUNS: Final = ANALYSES.at[-1]
SEARCH_RUNS: Final = int(_DEFAULTS["max_repeats"])
NUM_CONFIGS: Final = 8
NUM_FOR_RATES: Final = 10_000

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
RULE: Final = Rule(objectives=(maximize("samples_per_s"), maximize("val_acc", tolerance=0.005)))


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Noise that makes two runs of one config differ.

    Attributes:
        cv: Coefficient of variation of a run's figure over fresh processes.
        step_cv: The same of a step within a run; a part of ``cv`` comes from it.
        carried: Share of its deviation that a step hands to the next: they are not independent.
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
    """Return the log throughput of a run of true rate 1, measured over blocks as a trial's is."""
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
    """Return log speeds of two configs that are the same: (num, 2, most repeats)."""
    rng = np.random.default_rng([seed, round(1e6 * noise.cv)])
    shape = (num, 2, MOST_RUNS)
    return np.array([measured_log_rate(rng, noise) for _ in range(math.prod(shape))]).reshape(shape)


def drawn(cv: float, *, num: int, configs: int, seed: int) -> Floats:
    """Return the same without the steps: figures with this spread, (num, configs, most repeats)."""
    rng = np.random.default_rng([seed, round(1e6 * cv), configs])
    return math.sqrt(math.log1p(cv**2)) * rng.standard_normal((num, configs, MOST_RUNS))


def planted(logs: Floats) -> Floats:
    """Return the log speeds with the first config slower than the others, by 5 %."""
    slower = logs.copy()
    slower[:, 0] -= math.log(PLANTED)
    return slower


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Claims of confirm stages about pairs of configs.

    Attributes:
        is_different: True for those that tell the second config from the first, the baseline.
        num_pairs: Pairs of runs that each took.
    """

    is_different: Flags
    num_pairs: npt.NDArray[np.int64]


def claimed(logs: Floats, analyses: InterimAnalyses = ANALYSES) -> Claims:
    """Return what the confirm stage says of each of them, extended until it decides.

    Its claim: the interval of the paired ratio leaves out 1, and the ratio exceeds the margin
    of a tie and the noise floor, which the runs of the first, the baseline, give. These are the
    rules of :mod:`orchestrator.analysis.recommendation.speedup`, over all draws together; tests
    hold the two against each other.
    """
    gains, margin = logs[:, 1] - logs[:, 0], -math.log(1 - RULE.tie_margin)
    is_different, taken = np.zeros(len(logs), dtype=np.bool_), np.zeros(len(logs), dtype=np.int64)
    is_open = np.arange(len(logs))
    for num_pairs in analyses.at:
        some = gains[is_open, :num_pairs]
        mean = some.mean(axis=1)
        level = analyses.level(num_pairs) / FINALISTS
        quantile = float(t_quantile(np.array([num_pairs - 1.0]), 1 - level / 2)[0])
        half = quantile * some.std(axis=1, ddof=1) / math.sqrt(num_pairs)
        is_shown = np.abs(mean) > half
        is_tie = np.abs(mean) + half <= margin
        floor = np.ptp(logs[is_open, 0, :num_pairs], axis=1) / math.sqrt(num_pairs)
        is_different[is_open] = is_shown & (np.abs(mean) > margin) & (np.abs(mean) > floor)
        taken[is_open] = num_pairs
        is_open = is_open[~(is_shown | is_tie)]
    return Claims(is_different=is_different, num_pairs=taken)


def called_worse(logs: Floats, repeats: int) -> Flags:
    """Return True for configs called worse than the best of their sweep: (num, configs)."""
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
    """Return the coefficient of variation over the runs of a config."""
    return math.sqrt(math.expm1(float(logs.var(axis=2, ddof=1).mean())))


def many_claims(cv: float, *, is_planted: bool, seed: int) -> Claims:
    """Return the claims of the default confirm stage over enough draws to be sure of the rates."""
    many = drawn(cv, num=NUM_FOR_RATES, configs=2, seed=seed)
    return claimed(planted(many) if is_planted else many)


def same_lines(same: dict[float, Floats], *, num: int, seed: int) -> list[str]:
    """Return the verdicts on configs that are compared with themselves."""
    verdicts = called_worse(drawn(AA_CV, num=num, configs=NUM_CONFIGS, seed=seed), SEARCH_RUNS)
    return [
        f"A config against itself, interim analyses after {_numbers_of_pairs()} pairs:",
        *(
            f"- claim of the confirm stage, {100 * cv:g} % between runs (measured "
            f"{100 * measured_cv(logs):.1f} %): {claimed(logs).is_different.sum()} of {num} called "
            "different"
            for cv, logs in same.items()
        ),
        f"- verdict in sweeps of {NUM_CONFIGS} equal configs, {SEARCH_RUNS} runs each, "
        f"{100 * AA_CV:g} %: {verdicts.sum()} of {num * (NUM_CONFIGS - 1)} called worse than the "
        f"best, in {verdicts.any(axis=1).sum()} of {num} sweeps",
    ]


def planted_lines(same: dict[float, Floats], *, num: int, seed: int) -> list[str]:
    """Return two tables of the planted differences found, by noise and number of runs."""
    sweeps = {cv: planted(drawn(cv, num=num, configs=NUM_CONFIGS, seed=seed)) for cv in CVS}
    return [
        f"\nA difference of 5 %, found in so many of {num} cases by the claim of the confirm "
        f"stage, extended after {_numbers_of_pairs()} pairs until it decides:\n",
        "| between runs | measured | found | pairs taken, mean | fixed number for 80 of 100 |",
        "| --- | --- | --- | --- | --- |",
        *(_planted_row(cv, logs) for cv, logs in same.items()),
        f"\nThe same by the verdict in a sweep of {NUM_CONFIGS} configs, each repeated, one of "
        "them slower, of 100 cases:\n",
        f"| between runs | {' | '.join(f'{n} repeats' for n in REPEATS)} |",
        f"| --- |{' --- |' * len(REPEATS)}",
        *(
            f"| {100 * cv:g} % | "
            + _shares([called_worse(logs, n)[:, 0].mean() for n in REPEATS])
            + " |"
            for cv, logs in sweeps.items()
        ),
    ]


def _planted_row(cv: float, same: Floats) -> str:
    claims = claimed(planted(same))
    return (
        f"| {100 * cv:g} % | {100 * measured_cv(same):.1f} % | {claims.is_different.sum()} | "
        f"{claims.num_pairs.mean():.1f} | {pairs_needed(cv)} |"
    )


def _numbers_of_pairs() -> str:
    return ", ".join(map(str, ANALYSES.at))


def _shares(shares: Sequence[float]) -> str:
    return " | ".join(f"{100 * share:.0f}" for share in shares)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 where a promise is not kept."""
    parser = Parser(
        prog="python -m benchmarks.analysis.comparisons",
        description=(__doc__ or "").partition("\n")[0],
    )
    parser.add_argument("--comparisons", type=int, default=100, help="default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="default %(default)s")
    options = parser.parse_args(arguments)
    num, seed = options.comparisons, options.seed
    same = {cv: pairs_in_blocks(Noise(cv=cv), num=num, seed=seed) for cv in CVS}
    print("\n".join(same_lines(same, num=num, seed=seed)))
    print("\n".join(planted_lines(same, num=num, seed=seed)))
    print(f"\nOver {NUM_FOR_RATES:,} draws without steps:")
    kept = [
        _rate_is_kept(cv, is_planted=is_planted, seed=seed)
        for cv in CVS
        for is_planted in (False, True)
    ]
    return 0 if all(kept) else 1


def _rate_is_kept(cv: float, *, is_planted: bool, seed: int) -> bool:
    claims = many_claims(cv, is_planted=is_planted, seed=seed)
    rate = float(claims.is_different.mean())
    is_kept = rate >= LEAST_FOUND if is_planted else rate <= MOST_FALSE
    promise = f"at least {100 * LEAST_FOUND:g}" if is_planted else f"at most {100 * MOST_FALSE:g}"
    what = "5 % planted" if is_planted else "A/A"
    print(
        f"- {what} at {100 * cv:g} %: {100 * rate:.1f} % called different with "
        f"{claims.num_pairs.mean():.1f} pairs, promised {promise} %: "
        f"{'kept' if is_kept else 'not kept'}"
    )
    return is_kept


if __name__ == "__main__":
    sys.exit(main())

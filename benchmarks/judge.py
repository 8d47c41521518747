"""How often ``orchestrator judge`` errs, and how many pairs it takes, on drawn and recorded pairs.

Recorded ratios are those of confirm rounds of equal configs, resampled in runs; the peer is the
single pair, "keep it if it was better".
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numpy.typing import NDArray

from orchestrator.judge.sequential import MOST, judged

WITHIN = 0.03


def verdicts(pairs: NDArray[np.float64]) -> tuple[list[str], float]:
    """Return the verdict of each row of logarithms of ratios, and the mean number of pairs."""
    words, used = [], 0
    for row in pairs:
        for number in range(len(row) + 1):
            verdict = judged(row[:number].tolist(), WITHIN)
            if verdict is not None:
                words.append(verdict.verdict)
                used += verdict.pairs
                break
    return words, used / len(pairs)


def main() -> None:
    """Print a table: a row a spread and a planted change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--ratios", metavar="FILE", help="recorded ratios of equals, one a line")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    shape = (options.repeats, MOST)
    drawn = {
        f"drawn, {100 * spread:g} %": spread * rng.standard_normal(shape)
        for spread in (0.01, 0.02, 0.029, 0.05)
    }
    if options.ratios:
        logs = np.log(np.loadtxt(options.ratios))
        logs -= logs.mean()
        drawn[f"recorded, {100 * logs.std(ddof=1):.1f} %"] = rng.choice(logs, shape)
    print("| spread of a pair | change | faster | slower | same | not decided | pairs | one pair |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, equals in drawn.items():
        for change in (0.0, 0.03, 0.05):
            pairs = equals + math.log1p(change)
            words, used = verdicts(pairs)
            shares = " | ".join(
                f"{100 * words.count(word) / len(words):.1f} %"
                for word in ("faster", "slower", "same", "not decided")
            )
            one = 100 * float((pairs[:, 0] > 0).mean())
            print(f"| {name} | {100 * change:g} % | {shares} | {used:.1f} | {one:.0f} % kept |")


if __name__ == "__main__":
    main()

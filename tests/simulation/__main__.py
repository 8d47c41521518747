"""``python -m tests.simulation [SEED | FIRST-END]``: play schedules of faults, print what fails."""

from __future__ import annotations

import sys
import time
from collections import Counter

from tests.simulation.schedules import played, schedule


def main(given: str) -> int:
    first, _, end = given.partition("-")
    seeds = range(int(first), int(end)) if end else range(int(first), int(first) + 1)
    began, failed, kinds = time.perf_counter(), 0, Counter[str]()
    for seed in seeds:
        if not (wrong := played(seed)):
            continue
        failed += 1
        case, faults = schedule(seed)
        kinds[wrong[0].partition(":")[2][:60] or wrong[0][:60]] += 1
        if failed <= 20:
            print(f"seed {seed}: {case.name}, {[(f.kind, f.step) for f in faults]}: {wrong[0]}")
    seconds = time.perf_counter() - began
    print(f"{len(seeds)} schedules, {failed} failed, {seconds:.1f} s")
    for kind, number in kinds.most_common(12):
        print(f"  {number} {kind}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "0-1000"))

"""``python -m tests.simulation [SEED | FIRST-END]``: play schedules of faults, print what fails."""

import gc
import sys
import time

from tests.simulation.schedules import played, schedule


def main(given: str) -> int:
    first, _, end = given.partition("-")
    seeds = range(int(first), int(end)) if end else range(int(first), int(first) + 1)
    schedule(seeds[0])
    gc.freeze()  # a collection would visit the imports' objects in vain
    began, failed = time.process_time(), 0
    for seed in seeds:
        if not (wrong := played(seed)):
            continue
        failed += 1
        case, faults = schedule(seed)
        print(f"seed {seed}: {case.name}, {[(f.kind, f.step) for f in faults]}: {wrong[0]}")
    print(f"{len(seeds)} schedules, {failed} failed, {time.process_time() - began:.1f} s of CPU")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "0-1000"))

"""Runs at the edges of the report: many knobs, random designs, three objectives, many failures."""

from __future__ import annotations

import math

from tests.orchestrator.analysis.made_runs import (
    BASELINE,
    SPEED,
    Config,
    MadeRun,
    config,
    factored_run,
    products_run,
)

MORE_KNOBS = [f"switch_{number}" for number in range(17)]
FASTER = {"switch_0": 1.25, "switch_1": 0.8}
"""What a switch brings where it is not 0; the others bring nothing."""


def random_run(num_trials: int = 60, seed: int = 0) -> MadeRun:
    """Return a random design of 20 knobs, of which no two configs differ in one alone."""
    run = MadeRun(seed)
    whole = {**BASELINE, **dict.fromkeys(MORE_KNOBS, 0)}
    for name in MORE_KNOBS:
        about = {"unit": "", "doc": f"what {name} does", "default": 0, "allowed": "an int >= 0"}
        run.sweep["knobs"][name] = {"role": "systems", **about}
    run.sweep |= {"baseline": whole, "fixed": {}, "search": f"Random({num_trials})"}
    run.sweep["space"] |= dict.fromkeys(MORE_KNOBS, "choice(0, 1)")
    run.sweep["space"] |= {"lr": "loguniform(0.001, 0.03)", "num_workers": "integers(0, 8)"}

    def add(c: Config, **cells: object) -> None:
        gain = math.prod(factor for name, factor in FASTER.items() if c[name])
        run.add(c, **cells)  # type: ignore[arg-type]
        row = run.rows[-1]
        for column in [column for column in row if column.startswith(SPEED)]:
            row[column] *= gain

    add(whole)
    for _ in range(num_trials):
        drawn = {name: int(run.rng.integers(2)) for name in MORE_KNOBS}
        drawn |= {"lr": float(10 ** run.rng.uniform(-3, -1.5)), "num_workers": 3}
        drawn |= {"batch_size": int(run.rng.choice([500, 1000, 4000]))}
        add({**whole, **drawn})
    accurate = [row for row in run.rows if row["metrics.val_acc"] > 0.905]
    best = max(accurate, key=lambda row: float(row[SPEED]))
    fastest = {name: best[f"params.{name}"] for name in whole} | {"fanouts": (10, 25)}
    for repeat in range(3):
        for c in (fastest, whole):
            add(c, stage="confirm", repeat=repeat)
    return run


def three_objectives() -> MadeRun:
    run = products_run()
    run.sweep["objectives"].append({"metric": "peak_rss_gib", "goal": "minimize"})
    return run


def many_failures() -> MadeRun:
    """Return a run of which most trials failed, by three causes."""
    run = MadeRun()
    causes = ("out of memory: {} GiB asked for", "NaN loss after {} steps", "no space left")
    for number in range(40):
        c = config(num_workers=number % 9, batch_size=500 * (1 + number // 9))
        if number % 4 == 0:
            run.add(c)
            continue
        state = "infeasible" if number % 3 else "failed"
        run.add(c, state=state, reason=causes[number % 3].format(number))
    run.add(config())
    for c, speed in ((config(batch_size=1500, num_workers=6), 21_000.0), (config(), 6100.0)):
        run.add_runs(c, [speed, 1.01 * speed, 0.995 * speed], stage="confirm")
    return run


RUNS = {
    "grid": products_run,
    "random": random_run,
    "factored": factored_run,
    "three objectives": three_objectives,
    "many failures": many_failures,
}

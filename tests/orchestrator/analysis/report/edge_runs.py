"""Runs at the edges of the report: recorded ones, one replayed, two sweeps played on made runs."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.simulation import play
from orchestrator.analysis import NOTEBOOKS
from orchestrator.analysis.tables.load import load_run, write_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.demo import demo
from orchestrator.machine import Machine, Node
from orchestrator.metrics import maximize
from orchestrator.replay.recorded import RecordedRun
from orchestrator.search import Grid, Random
from orchestrator.space.configs import both, knobs, learning, systems
from orchestrator.space.domains import choice, loguniform
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trainable import Trainable
from orchestrator.trial import Report, Trial, TrialState
from tests.orchestrator.analysis.made_runs import BASELINE, NUM_SEEDS, accuracy_of, speed_of
from tests.orchestrator.helpers.in_process import run_main

MORE_KNOBS = [f"switch_{number}" for number in range(17)]
FASTER = {"switch_0": 1.25, "switch_1": 0.8}
"""Factor of a switch that is not 0; the other switches have no effect."""
CAUSES = ("out of memory: {} GiB asked for", "NaN loss after {} steps", "no space left on device")
EPOCHS = 3

_KNOBS: dict[str, Any] = {
    "lr": learning(default=3e-3, gt=0, doc="step size"),
    "batch_size": both(default=1000, ge=1, doc="samples a step"),
    "num_workers": systems(default=0, ge=0, doc="loader processes"),
    **{name: systems(default=0, ge=0, doc=f"what {name} does") for name in MORE_KNOBS},
}
_TYPES = {**dict.fromkeys(_KNOBS, int), "lr": float}
Wide: Any = knobs(type("Wide", (), {"__annotations__": _TYPES, "__module__": __name__, **_KNOBS}))
WIDE = Trainable(lambda config, run: None, Wide, reports=[maximize("val_acc")], name="wide")


class Drawn:
    """Runs by the formulas of the made runs; with ``failing`` most end by one of three causes."""

    def __init__(self, *, failing: bool = False) -> None:
        self._failing = failing

    def draw(self, trial: Trial) -> RecordedRun:
        c: Mapping[str, Any] = {**BASELINE, **trial.config}
        rng = random.Random(f"{sorted(trial.config.items())} {trial.stage} {trial.repeat}")
        number = c["num_workers"] + c["batch_size"] // 500 - 2  # 0: the baseline
        if self._failing and number % 4:
            state = TrialState.INFEASIBLE if number % 3 else TrialState.FAILED
            return RecordedRun(wall_s=3.0, state=state, reason=CAUSES[number % 3].format(number))
        gain = math.prod(factor for name, factor in FASTER.items() if c.get(name))
        speed = speed_of(c) * gain * math.exp(rng.gauss(0, 0.012))
        epoch_s = NUM_SEEDS / speed + 0.2
        ends = (("_low", 0.985), ("_high", 1.015), ("_within_low", 0.985), ("_within_high", 1.015))
        figures = {
            "samples_per_s": speed, "epoch_s": epoch_s, "train_s": EPOCHS * NUM_SEEDS / speed,
            "peak_rss_gib": 0.9 + 0.35 * c["num_workers"],
            "val_acc": accuracy_of(c) + rng.gauss(0, 0.0005),
            **{f"samples_per_s{end}": speed * share for end, share in ends},
        }  # fmt: skip
        reports = [
            Report(step=n, epoch=n, samples=n * NUM_SEEDS, elapsed_s=n * epoch_s, metrics=figures)
            for n in range(1, EPOCHS + 1)
        ]
        return RecordedRun(reports=reports, wall_s=EPOCHS * epoch_s + 4, metrics=figures)


def _played(folder: Path, drawn: Drawn, **of_sweep: Any) -> RunTables:  # noqa: ANN401
    sweep = Sweep(
        WIDE, question="Which settings?", epochs=EPOCHS, cores_per_trial=4,
        rigor=Rigor(max_repeats=1, confirm=3, max_confirm=3, finalists=1), **of_sweep,
    )  # fmt: skip
    play(sweep, drawn.draw, Machine(nodes=(Node(name="n", cpus=4),)), folder, source="drawn")
    tables = write_run(folder)
    hardware = {"cpu_model": "Xeon 2.2 GHz", "num_cores": 4, "memory_gib": 15.6, "gpus": []}
    return replace(tables, sweep=replace(tables.sweep, hardware=hardware, data="drawn"))


def random_run(folder: Path) -> RunTables:
    """Return a random design of 20 knobs: no two configs differ in one knob only."""
    space = Wide(
        lr=loguniform(1e-3, 0.03), batch_size=choice(500, 1000, 4000), num_workers=choice(0, 3),
        **dict.fromkeys(MORE_KNOBS, choice(0, 1)),
    )  # fmt: skip
    return _played(folder, Drawn(), space=space, search=Random(60))


def many_failures(folder: Path) -> RunTables:
    """Return a run of which most trials failed, by three causes."""
    space = Wide(num_workers=choice(*range(9)), batch_size=choice(500, 1000, 1500, 2000))
    return _played(folder, Drawn(failing=True), space=space, search=Grid())


def factored_run(folder: Path) -> RunTables:
    """Return the recorded sweep of the demo, replayed."""
    here = Path(demo.__file__)
    table = f"replay.table={here.parent / 'recorded'}"
    run_main(here, "--executor", "replay", "--set", table, "--out", folder)
    return load_run(folder)


RUNS: Mapping[str, Callable[[Path], RunTables]] = {
    "grid": lambda _: load_run(NOTEBOOKS / "recorded/products_loader"),
    "random": random_run,
    "factored": factored_run,
    "three objectives": lambda _: load_run(NOTEBOOKS / "recorded/graph_memory"),
    "many failures": many_failures,
}

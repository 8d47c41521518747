"""Effects by the additive model: lines and steps with their truth, and knobs that stay unknown."""

import math

import numpy as np
import pandas as pd

import orchestrator.analysis as an
from orchestrator.analysis.knobs.effects import model_effects
from orchestrator.analysis.knobs.of_run import figures_of
from tests.orchestrator.analysis.made_runs import MadeRun, config


def drawn(num_configs: int, seed: int = 0) -> MadeRun:
    """Return a random design: the speed grows with workers and the batch's logarithm, not by lr."""
    run, rng = MadeRun(), np.random.default_rng(seed)
    for _ in range(num_configs):
        workers, batch, lr = (int(rng.integers(1, 9)), int(rng.integers(100, 5000)), rng.random())
        log = 0.05 * workers + 0.3 * math.log(batch) + 0.02 * rng.standard_normal()
        c = config(num_workers=workers, threads=workers, batch_size=batch, lr=lr)
        c["allocator"] = str(rng.choice(["tuned", "jemalloc"]))
        run.add_runs(c, [1000 * math.exp(log + 0.1 * (c["allocator"] == "jemalloc"))])
    return run


def test_the_interval_of_a_line_or_a_step_covers_the_truth_in_most_designs() -> None:
    covered = []
    for seed in range(10):
        found = an.effects(drawn(30, seed).tables, on="samples_per_s").set_index("knob")
        batch, step = found.loc["batch_size"], found.loc["allocator"]
        assert set(found.loc[["batch_size", "lr", "allocator"], "basis"]) == {"additive model"}
        truth = (batch["value"] / batch["reference"]) ** 0.3
        sign = 0.1 if step["value"] == "jemalloc" else -0.1
        covered += [batch["low"] < truth < batch["high"]]
        covered += [step["low"] < math.exp(sign) < step["high"]]
    assert np.mean(covered) > 0.85


def test_knobs_that_change_together_and_few_configs_show_nothing() -> None:
    found = an.effects(drawn(30).tables, on="samples_per_s").set_index("knob")
    assert set(found.loc[["num_workers", "threads"], "verdict"]) == {"no pair"}
    assert pd.isna(found.at["threads", "effect"])
    (figures,) = figures_of(drawn(5).tables, "samples_per_s")
    assert list(model_effects(figures)) == []

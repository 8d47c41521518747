"""The same runs in a loop around plain Ray Tune, timed as such loops time them."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ray
from ray import tune

from orchestrator.data import DataFolders, find_data
from orchestrator.measurement.run import Context, Run
from orchestrator.space.configs import replaced
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Report


class _Last:
    """Channel that keeps the last report."""

    last: Report

    def report(self, report: Report) -> bool:
        """Take a report; the trial goes on."""
        self.last = report
        return False


def run_sweep(module: str) -> Sweep[Any]:
    """The sweep of a module under ``benchmarks.fidelity``."""
    found: Sweep[Any] = importlib.import_module(module).SWEEP
    return found


def train(config: Mapping[str, Any]) -> None:
    """Train once; the throughput is samples over the time of all epochs."""
    asked = config["run"]
    sweep = run_sweep(asked["module"])
    trainable = sweep.trainable
    data = find_data(trainable.data, sweep.data).prepare(DataFolders.default(None))
    channel = _Last()
    run = Run(Context(seed=asked["seed"], budget=sweep.budget, data=data), channel)
    baseline: Any = sweep.baseline
    trainable.train(replaced(baseline, {"batch_size": asked["batch_size"]}), run)
    tune.report({"samples_per_s": channel.last.samples / channel.last.metrics["train_s"]})


def main() -> None:
    """Run every config of the sweep ``--repeats`` times and print the first one's rates."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("--repeats", type=int, required=True)
    parser.add_argument("--max-concurrent", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    num_cpus = len(os.sched_getaffinity(0))
    ray.init(address="local", num_cpus=num_cpus, include_dashboard=False, log_to_driver=False)
    space: Any = run_sweep(options.module).space
    sizes = space.batch_size.values
    runs = [
        {"module": options.module, "batch_size": size, "seed": seed}
        for size in sizes
        for seed in range(options.repeats)
    ]
    random.Random(0).shuffle(runs)
    tuner = tune.Tuner(
        tune.with_resources(train, {"cpu": 1}),
        param_space={"run": tune.grid_search(runs)},
        tune_config=tune.TuneConfig(max_concurrent_trials=options.max_concurrent),
        run_config=tune.RunConfig(storage_path=str(options.out), verbose=0),
    )
    results = tuner.fit()
    metrics: list[Any] = [results[index].metrics for index in range(len(results))]
    rates = [m["samples_per_s"] for m in metrics if m["config"]["run"]["batch_size"] == sizes[0]]
    print(json.dumps(rates))


if __name__ == "__main__":
    main()

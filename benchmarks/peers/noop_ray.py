"""The same trials as Ray Tune's and MLflow's own documentation would run them."""

from __future__ import annotations

import argparse
import os
from typing import Any

import ray
from ray import tune
from ray.air.integrations.mlflow import MLflowLoggerCallback

from benchmarks.noop_sweep import NUM_REPORTS, NUM_TRIALS


def train(config: dict[str, Any]) -> None:
    """Import torch, report, and do nothing in between."""
    import torch

    for epoch in range(NUM_REPORTS):
        tune.report({"val_acc": float(torch.tensor(epoch + config["index"])) / 1e6})


def main() -> None:
    """Run all trials, each in a fresh process, logged to MLflow on sqlite."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--trials", type=int, default=NUM_TRIALS)
    options = parser.parse_args()
    num_cpus = len(os.sched_getaffinity(0))
    ray.init(address="local", num_cpus=num_cpus, include_dashboard=False, log_to_driver=False)
    callback = MLflowLoggerCallback(
        tracking_uri=f"sqlite:///{options.out}/mlflow.db", experiment_name="noop"
    )
    tuner = tune.Tuner(
        tune.with_resources(train, {"cpu": 1}),
        param_space={"index": tune.grid_search(list(range(options.trials)))},
        tune_config=tune.TuneConfig(reuse_actors=False),
        run_config=tune.RunConfig(storage_path=options.out, callbacks=[callback], verbose=0),
    )
    results = tuner.fit()
    assert len(results) == options.trials
    assert not results.errors


if __name__ == "__main__":
    main()

"""Unit and meaning of each column of a run's tables."""

from __future__ import annotations

from typing import Final

from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.metric_table import METRICS

_TRIAL: Final = {
    "trial_id": ("", "name of the trial, the same when a run is resumed"),
    "stage": ("", "purpose of the trial: probe, train or confirm"),
    "state": ("", "how it ended: completed, stopped, infeasible, failed or not_run"),
    "reason": ("", "why it did not complete"),
    "seed": ("", "seed of the trial"),
    "repeat": ("", "number of the run among those of its config and stage"),
    "data": ("", "data set"),
    "node": ("", "machine that it ran on"),
    "device": ("", "cpu, or the GPUs' names"),
    "cores": ("", "cores that it had"),
    "isolation": ("", "exclusive: the node to itself; leased: cores of its own; shared: neither"),
    "started_at": ("UTC", "time of its last start"),
    "wall_s": ("s", "time from the start of its process to its end"),
    "curve": ("", "learning curve that it is a part of, where that was paused"),
    "step": ("", "optimizer steps so far"),
    "epoch": ("", "epochs so far"),
    "samples": ("", "training samples so far"),
    "elapsed_s": ("s", "time since its process began"),
    "first_step": ("", "first step of the block"),
    "num_steps": ("", "steps of the block"),
    "duration_s": ("s", "duration of the block"),
    "dropped": ("", "why the block counts for no rate; empty where it counts"),
    "group": ("", "conditions that rows are comparable under; ranked within one only"),
    "num_runs": ("", "runs that the speed is of"),
    "num_all_runs": ("", "runs that the accuracy is of"),
    "num_left_out": ("", "contaminated runs that the speed is not of"),
    "num_lost": ("", "runs of the config that were infeasible or failed"),
    "trial_ids": ("", "trials of the config"),
    "timed_ids": ("", "trials that the speed is of"),
    "speed_ids": ("", "trials that a composed speed is of"),
    "curve_ids": ("", "trials that a composed accuracy is of"),
    "contaminated": ("", "true where the runs that the speed is of had foreign load"),
    "variance": ("", "variance of the mean log speed over fresh runs"),
    "df": ("", "degrees of freedom of the variance"),
    "interval": ("", "what the speed's interval is over"),
    "composed": ("", "true where the config was not itself trained and probed"),
    "verdict": ("", "best, tied, worse or unresolved against the best; empty: not acceptable"),
    "ratio_to_best": ("", "speed over that of the best"),
    "ratio_low": ("", "its 95 % interval over all configs together, low end"),
    "ratio_high": ("", "its 95 % interval over all configs together, high end"),
    "on_front": ("", "true where no other config of its group beats it in every objective"),
}
"""Unit and meaning of the columns that are neither knobs, metrics nor tags."""

_TAGS: Final = {
    "bound": "part of a step that it waits for most: loader, transfer, compute or host",
    "contaminated": "foreign load on its cores, and how much; `false`: none; empty: not known",
    "oversubscribed": "more processes than cores",
    "interval": "`narrow` or `wide`: the interval of the speed within the run",
    "interval_over": "what the interval of the row's speed is over",
    "rate": "steady: over steady steps; epochs: over whole epochs, which are too short",
    "idle": "knobs without an effect in this config",
    "interleaved": "true where it shared its cores in time slices with the runs of its round",
    "no_ceilings": "why no ceilings were measured",
    "batches": "hash of the first batches; the same where only systems knobs differ",
    "core_ids": "cores of the trial",
    "rerun": "why it was run again, and what became of that",
    "attempts": "runs of the trial, retries included",
    "gpus": "its GPUs by UUID",
    "gpu_settings": "driver and power limit of its GPUs",
    "throttled": "why a GPU was slowed",
    "cpu_model": "processor of its node",
    "clocks": "how the processor's clocks are governed",
    "versions": "versions of what runs inside a step",
    "allocator": "memory allocator of its process",
    "threads": "threads as torch had them at the end",
    "deterministic": "deterministic algorithms as torch had them at the end",
}


def meaning_of(column: str, run: RunTables) -> dict[str, str]:
    """Return ``column``, ``kind``, ``role``, ``unit`` and ``meaning`` of a column."""
    prefix, _, name = column.partition(".")
    kind, role, unit, meaning = "trial", "", *_TRIAL.get(column, ("", ""))
    if prefix == "params":
        kind = "knob"
        if name in run.sweep.knobs:
            knob = run.sweep.knobs[name]
            role, unit, meaning = str(run.roles[name]), knob.unit, knob.doc
    elif prefix == "metrics":
        kind, (unit, meaning) = "metric", _of_metric(name)
    elif prefix == "tags":
        kind, meaning = "tag", _TAGS.get(name, "set by the trainable")
    return {"column": column, "kind": kind, "role": role, "unit": unit, "meaning": meaning}


def _of_metric(name: str) -> tuple[str, str]:
    if name in METRICS:
        return METRICS[name].unit, METRICS[name].doc
    for end in ("low", "high"):
        base = name.removesuffix(f"_{end}")
        if base != name and base in METRICS:
            return METRICS[base].unit, f"95 % interval of {base}, {end} end"
    return "", "reported by the trainable"

"""Claims that anyone can check: this program's figures on public numbers of MLPerf Training's RGAT.

    python -m benchmarks.proofs

``mlperf_rgat/`` has the numbers. ``runs.parquet``: every evaluation of 558 public runs on
IGBH-full in v4.0, v4.1, v5.0 and v5.1, read from the logs of mlcommons/training_results_*.
``reference_points.json``: the reference's epochs to the target by batch size and learning rate,
some 20 runs each, from ``rcp_checker`` in mlcommons/logging (Apache-2.0).

1. Time to the target: the composition of a factored search, with the reference as its curves and
   the first two evaluations of one run of a system as the probe of its speed.
2. What more GPUs cost: ``an.scaling`` on the runs of one system with 8, 64 and 512 of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.harness import environment_lines
from orchestrator.analysis.knobs.scaling import scaling, turning_point
from orchestrator.analysis.rule import TIME
from orchestrator.analysis.statistics.intervals import ratio_interval
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.arguments import Parser
from orchestrator.metrics import at_least, maximize, minimize
from orchestrator.space.knob import Role
from orchestrator.storage.sweep_record import KnobRecord, SweepRecord
from orchestrator.storage.tables import candidates_table, trial_dtypes, typed
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Stage

NUMBERS: Final = Path(__file__).with_name("mlperf_rgat")
TARGET: Final = 0.72
GROUP: Final = ["version", "org", "system", "batch_size", "lr"]
"""Runs with the same are repeats: usually ten."""
FAR: Final = 1.1
"""A group does not fit the reference if its epochs are shown to differ by this factor."""
GOALS: Final = (0.02, 0.05)
"""Median and worst error to reach."""
EOS: Final = {"eos_ngc24.04_dgl": 8, "eos_n8_ngc24.04_dgl": 64, "eos_n64_ngc24.04_dgl": 512}
"""GPUs of each size of NVIDIA's Eos in v4.0, nodes of eight H100."""

PER_EPOCH: Final = 20
"""Evaluations an epoch: the tables count in them, since an epoch of theirs is a whole number."""

KNOBS: Final = {
    "system": KnobRecord(role=Role.SYSTEMS, default="reference"),
    "gpus": KnobRecord(role=Role.SYSTEMS, default=8, type="int"),
    "batch_size": KnobRecord(role=Role.BOTH, default=16384, type="int"),
    "lr": KnobRecord(role=Role.LEARNING, default=0.002, type="float"),
}
BASELINE: Final = {name: knob.default for name, knob in KNOBS.items()}

Point = tuple[int, float]
"""Batch size and learning rate."""
Reference = Mapping[Point, Sequence[float]]
"""Epochs to the target of several runs of each point."""


class Probe(NamedTuple):
    """The speed of a system at a point: seconds before the first epoch, and of an epoch."""

    point: Point
    set_up_s: float
    epoch_s: float


def read() -> tuple[pd.DataFrame, Reference]:
    """Return the evaluations of the public runs, and the reference."""
    points = json.loads((NUMBERS / "reference_points.json").read_text()).values()
    reference = {
        (point["BS"], point["Hyperparams"]["opt_base_learning_rate"]): point["Epochs to converge"]
        for point in points
    }
    return pd.read_parquet(NUMBERS / "runs.parquet"), reference


def groups_of(runs: pd.DataFrame, reference: Reference) -> dict[str, pd.DataFrame]:
    """Return the evaluations of each group at a point of the reference, by its name."""
    return {
        " ".join(map(str, key)): own for key, own in runs.groupby(GROUP) if key[-2:] in reference
    }


def ends_of(group: pd.DataFrame) -> pd.DataFrame:
    """Return the evaluation of each run at which it reached the target."""
    return group[group["val_acc"] >= TARGET].drop_duplicates("run")


def probe(run: pd.DataFrame, last: int = 1) -> Probe:
    """Return the speed of a system by a run's first evaluation and another one."""
    early, late = run.iloc[0], run.iloc[last]
    epoch_s = (late["elapsed_s"] - early["elapsed_s"]) / (late["epoch"] - early["epoch"])
    set_up_s = max(early["elapsed_s"] - early["epoch"] * epoch_s, 0.0)
    return Probe((int(early["batch_size"]), float(early["lr"])), float(set_up_s), float(epoch_s))


def predicted_s(probes: Mapping[str, Probe], reference: Reference) -> pd.Series[float]:
    """Return the seconds of a training to the target on each system, as the program composes it.

    Args:
        probes: By the system's name.
        reference: The curves.
    """
    rows: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    for (batch_size, lr), epochs in reference.items():
        config = {**BASELINE, "batch_size": batch_size, "lr": lr}
        for seed, count in enumerate(round(PER_EPOCH * each) for each in epochs):
            row = _row(len(rows), config, Stage.TRAIN, seed)
            figures = {"epochs": count, "epoch_s": 1.0, "train_s": count, "val_acc": TARGET}
            rows.append(row | {f"metrics.{n}": v for n, v in figures.items()} | {"wall_s": count})
            curves.append(_report(row, count, count) | {"metrics.train_s": count})
    configs = []
    for system, (point, set_up_s, epoch_s) in probes.items():
        config = {**BASELINE, "system": system, "batch_size": point[0], "lr": point[1]}
        figures = {"metrics.samples_per_s": PER_EPOCH / epoch_s, "metrics.train_s": 0.0}
        rows.append(_row(len(rows), config, Stage.PROBE, 0) | figures | {"wall_s": set_up_s})
        configs.append(tuple(config.values()))
    roles = {name: knob.role for name, knob in KNOBS.items()}
    candidates = candidates_table(tuple(KNOBS), configs, KNOBS, roles)
    return _tables(rows, curves, candidates).configs.set_index("params.system")["wall_s"]


def scaled(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the scaling report on the runs of :data:`EOS`, all of which are whole trainings."""
    rows: list[dict[str, Any]] = []
    curves: list[dict[str, Any]] = []
    of_eos = runs[(runs["version"] == "v4.0") & runs["system"].isin(EOS)]
    for (system, _), run in of_eos.groupby(["system", "run"]):
        number, last = EOS[str(system)], probe(run, -1)
        config = {**BASELINE, "gpus": number, "batch_size": last.point[0], "lr": last.point[1]}
        row = _row(len(rows), config, Stage.TRAIN, len(rows))
        row |= {"device": ", ".join(["H100"] * number), "wall_s": run["elapsed_s"].max()}
        row |= {"metrics.samples_per_s": PER_EPOCH / last.epoch_s}
        rows.append(row | {"metrics.val_acc": run["val_acc"].iloc[-1]})
        curves += [
            _report(row, round(PER_EPOCH * epoch), elapsed_s, accuracy)
            for epoch, accuracy, elapsed_s in run[["epoch", "val_acc", "elapsed_s"]].itertuples(
                index=False
            )
        ]
    return scaling(_tables(rows, curves, pd.DataFrame()), "gpus", target=TARGET, best=True)


def _row(number: int, config: Mapping[str, Any], stage: Stage, seed: int) -> dict[str, Any]:
    cells = {f"params.{name}": value for name, value in config.items()}
    state = {"stage": str(stage), "state": "completed", "isolation": "exclusive"}
    return {"trial_id": f"{number:012x}", "seed": seed, "repeat": seed, **state, **cells}


def _report(
    row: Mapping[str, Any], count: int, elapsed_s: float, accuracy: float = TARGET
) -> dict[str, Any]:
    cells = {"trial_id": row["trial_id"], "step": count, "epoch": count, "samples": count}
    return {**cells, "elapsed_s": elapsed_s, "metrics.val_acc": accuracy}


def _tables(
    rows: Sequence[Mapping[str, Any]],
    curves: Sequence[Mapping[str, Any]],
    candidates: pd.DataFrame,
) -> RunTables:
    sweep = SweepRecord(
        name="rgat",
        objectives=(minimize("time_to_accuracy_s"), maximize("val_acc")),
        knobs=KNOBS,
        baseline=BASELINE,
        rigor=Rigor(),
        target=at_least("val_acc", TARGET),
        space=dict.fromkeys(KNOBS, "as published"),
    )
    dtypes = trial_dtypes(KNOBS, {name for row in rows for name in row})
    frame = pd.DataFrame(rows, columns=list(dtypes), dtype=object)
    return RunTables(
        trials=typed(frame, dtypes),
        curves=pd.DataFrame(curves),
        candidates=candidates,
        sweep=sweep,
    )


def far_from_reference(group: pd.DataFrame, reference: Sequence[float]) -> str:
    """Return how far a group's epochs to the target are from the reference's; "" if they fit."""
    ratio = ratio_interval(ends_of(group)["epoch"].to_numpy(), np.array(reference))
    if ratio.low < FAR and ratio.high > 1 / FAR:
        return ""
    ends = f"{ratio.low:.2f} to {ratio.high:.2f}"
    return f"{ratio.centre:.2f} times the reference's epochs ({ends})"


def prediction_lines(runs: pd.DataFrame, reference: Reference) -> Iterator[str]:
    """Yield the table of errors and the groups that do not fit the reference."""
    groups = groups_of(runs, reference)
    first = {name: probe(_first_run(own)).point for name, own in groups.items()}
    far = {name: far_from_reference(own, reference[first[name]]) for name, own in groups.items()}
    fit = {name: own for name, own in groups.items() if not far[name]}
    measured = pd.Series({n: ends_of(own)["elapsed_s"].median() for n, own in fit.items()})
    ways: dict[str, Callable[[pd.DataFrame], Probe]] = {
        "first two evaluations of its first run": lambda own: probe(_first_run(own)),
        "whole first run": lambda own: probe(_first_run(own), -1),
        "all its runs, whole": _of_all_runs,
    }
    yield "| speed from | groups | median error | worst error | beyond 5 % | goal |"
    yield "| --- | ---: | ---: | ---: | --- | --- |"
    for way, timing in ways.items():
        found = predicted_s({name: timing(own) for name, own in fit.items()}, reference)
        errors = (found / measured - 1).abs().sort_values(ascending=False)
        is_met = errors.median() <= GOALS[0] and errors.max() <= GOALS[1]
        beyond = ", ".join(f"{n} {e:.1%}" for n, e in errors.items() if e > GOALS[1])
        yield (
            f"| {way} | {len(errors)} | {errors.median():.2%} | {errors.max():.1%} | {beyond} "
            f"| {'met' if is_met else '**not met**'} |"
        )
    yield ""
    for name, text in far.items():
        if text:
            yield f"- {name} does not fit the reference: {text}"


def _first_run(group: pd.DataFrame) -> pd.DataFrame:
    """Return the evaluations of a group's first run, in the order of the names."""
    first: pd.DataFrame = group[group["run"] == group["run"].min()]
    return first


def _of_all_runs(group: pd.DataFrame) -> Probe:
    """Return the medians of the runs' own speeds."""
    probes = [probe(run, -1) for _, run in group.groupby("run")]
    set_up_s, epoch_s = np.median([each[1:] for each in probes], axis=0)
    return Probe(probes[0].point, float(set_up_s), float(epoch_s))


def scaling_lines(runs: pd.DataFrame) -> Iterator[str]:
    """Yield the scaling report as Markdown."""
    yield "| GPUs | batch | s to 0.72 | 95 % interval | times as fast | GPU-s | times | pays |"
    yield "| ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |"
    rows = scaled(runs)
    first = rows.iloc[0]
    for row in rows.to_dict("records"):
        yield (
            f"| {row['params.gpus']} | {row['params.batch_size']} | {row[TIME]:.1f} "
            f"| {row[f'{TIME}_low']:.1f} to {row[f'{TIME}_high']:.1f} "
            f"| {first[TIME] / row[TIME]:.1f} | {row['device_s']:,.0f} "
            f"| {row['device_s'] / first['device_s']:.1f} | {row['pays']} |"
        )
    yield f"\nFrom this many GPUs on no step pays: {turning_point(rows) or 'not found'}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables."""
    Parser(prog="python -m benchmarks.proofs", description=__doc__).parse_args(arguments)
    runs, reference = read()
    print("\n".join([*environment_lines("pandas"), "", *prediction_lines(runs, reference), ""]))
    print("\n".join(scaling_lines(runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The worth of a speed: the time to an accuracy, and goodput."""

import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.knobs.scaling import target_of
from orchestrator.analysis.rule import SPEED
from orchestrator.analysis.tables.run_tables import RunTables


def time_to_accuracy(run: RunTables, target: float | None = None) -> pd.DataFrame:
    """Return the training time in which each config reached an accuracy.

    Time counts in training epochs without evaluation if the reports have it; otherwise from
    the start of the process. It is known as finely as accuracy was evaluated. For a composed config
    it is the time of its curve's epochs at its own speed.

    Args:
        run: A run.
        target: The accuracy to reach, for the accuracy that the sweep's rule names. None: the
            sweep's own target, or the least accuracy that its rule accepts.

    Returns:
        One row a config, the soonest first: ``params.*``; ``group``; ``target``; ``reached_s``,
        the geometric mean over the runs that reached it, NaN if fewer than half did, with the ends
        ``reached_low`` and ``reached_high`` of its 95 % interval; ``num_reached`` of ``num_runs``;
        ``trained_s``, the median of their training times; the accuracy at the end.

    Raises:
        TableError: No accuracy was reported; the target is no fraction of 1 if the accuracy is one.

    Source: time to accuracy as MLPerf Training counts it (Mattson et al., MLSys 2020).
    """
    target, frame = target_of(target, run, "time_to_accuracy"), run.configs
    table = frame[[*params_of(frame), GROUP]].assign(target=target)
    table = table.join(run.times_to(target, frame)).join(frame[run.rule.accuracy_column])
    return table.sort_values("reached_s", kind="stable").reset_index(drop=True)


def goodput(run: RunTables, target: float | None = None) -> pd.DataFrame:
    """Return each config's speed times its statistical efficiency.

    The efficiency is known from the curves: the baseline's samples to the target over the
    config's samples to it. So goodput is in the baseline's samples a second.

    Args:
        run: A run.
        target: As in :func:`time_to_accuracy`.

    Returns:
        One row a config, the best first: ``params.*``; ``group``; ``target``;
        ``metrics.samples_per_s``; ``efficiency``; ``metrics.goodput`` in samples a second. NaN
        if most runs of a config never reached the target.

    Raises:
        TableError: As :func:`time_to_accuracy`.

    Source: Qiao et al., "Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep
    Learning", OSDI 2021.
    """
    value = target_of(target, run, "goodput")
    frame = run.aiming_at(value).configs
    columns = [*params_of(frame), GROUP, SPEED, "metrics.goodput"]
    table = frame.reindex(columns=columns).sort_values(
        "metrics.goodput", ascending=False, kind="stable", ignore_index=True
    )
    return table.assign(target=value, efficiency=table["metrics.goodput"] / table[SPEED])

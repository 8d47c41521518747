"""The last lines of a run: its result and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pandas as pd

from analysis.composition.compose import COMPOSED
from analysis.recommendation.caveats import drifted, interfering
from analysis.recommendation.front import front_table, main_front
from analysis.recommendation.recommend import Recommendation
from analysis.report.states import counts_of_states
from analysis.rule import unreported
from analysis.tables.run_tables import RunTables
from analysis.wording import counted, format_config, shown
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage, TrialState

MAX_LINES: Final = 8


def summary(tables: RunTables, recommendation: Recommendation, *, run_dir: Path) -> list[str]:
    """Return the last lines of a run, but for MLflow's and the resumption's: eight at most.

    A replay has one more, which says that it is one.

    Args:
        tables: The run.
        recommendation: Its recommendation.
        run_dir: The folder of its files.
    """
    trials, sweep = tables.trials, tables.sweep
    lines = [
        _states(trials, sweep),
        *_stand_in(sweep),
        *_replayed(sweep),
        _front(tables),
        *_recommended(recommendation, sweep),
        f"report:      {run_dir / 'report.html'}  (tables beside it: trials.csv, front.csv)",
    ]
    assert len(lines) <= MAX_LINES + bool(sweep.replayed)
    return lines


def _states(trials: pd.DataFrame, sweep: SweepRecord) -> str:
    states = [f"{count} {words}" for words, count in counts_of_states(trials).items()]
    lost = trials[trials["state"].isin([TrialState.FAILED, TrialState.INFEASIBLE])]
    reasons = lost["reason"].value_counts()
    most = f" ({_first_line(reasons.index[0])})" if len(reasons) == 1 else ""
    ends = f": {', '.join(states)}{most}" if states else ""
    return f"{sweep.name}: {counted(len(trials), 'trial')}{ends}"


def _first_line(reason: str) -> str:
    line = reason.strip().partition("\n")[0]
    return line if len(line) <= 80 else f"{line[:77]}..."


def _stand_in(sweep: SweepRecord) -> list[str]:
    note = sweep.data_note.partition(". To get")[0]
    return [f"data:        {note}"] if note else []


def _replayed(sweep: SweepRecord) -> list[str]:
    text = f"recorded runs of {sweep.replayed} on a simulated clock: nothing was measured"
    return [f"replay:      {text}"] if sweep.replayed else []


def _front(tables: RunTables) -> str:
    trials, rule = tables.trials, tables.rule
    objectives = (rule.speed, *(o for o in rule.objectives if o is not rule.speed))
    table = main_front(front_table(tables))
    if table.empty:
        done = trials[trials["state"] == TrialState.COMPLETED]
        missing = unreported(done, objectives) if len(done) else []
        if missing:
            return f"front:       none: no completed trial has reported {' and '.join(missing)}"
        return "front:       none: no config completed with every objective measured"
    metrics = [objective.metric for objective in objectives]
    ends = [table.iloc[0], table.iloc[-1]] if len(table) > 1 else [table.iloc[0]]
    texts = [", ".join(_figure(metric, row) for metric in metrics) for row in ends]
    num_composed = int(table[COMPOSED].sum())
    composed = f" ({num_composed} composed)" if num_composed else ""
    if len(texts) == 1:
        return f"front:       1 config{composed}: {texts[0]}"
    return f"front:       {counted(len(table), 'config')}{composed}, from {' to '.join(texts)}"


def _figure(metric: str, row: pd.Series) -> str:
    text = shown(metric, row[f"metrics.{metric}"])
    return text if metric == "samples_per_s" else f"{metric} {text}"


def _recommended(recommendation: Recommendation, sweep: SweepRecord) -> list[str]:
    if recommendation.config is None:
        return [f"recommended: none: {recommendation.why}"]
    rule = recommendation.rule
    others = [o.metric for o in (*rule.objectives, rule.accuracy) if o is not rule.speed]
    figures = [
        f"{name} {shown(name, recommendation.figures[name])}"
        for name in dict.fromkeys([*others, rule.test_column.removeprefix("metrics.")])
        if not pd.isna(recommendation.figures[name])
    ]
    timed, trained = recommendation.num_runs["speed"], recommendation.num_runs["accuracy"]
    if recommendation.composed:
        of = "confirm run" if recommendation.measured_in is Stage.CONFIRM else "probe"
        speed, accuracy = counted(timed, of), counted(trained, "curve")
        figures.append(f"composed: speed of {speed}, accuracy of {accuracy}")
    elif figures and timed != trained:
        figures.append(f"accuracy of {counted(trained, 'run')}, speed of {timed}")
    settings = format_config(recommendation.config, sweep)
    lines = [
        f"recommended: {settings}" + (f"  ({', '.join(figures)})" if figures else ""),
        f"             {recommendation.how_sure}",
    ]
    watched = _watched(recommendation)
    notes = [note for note in recommendation.notes if note not in watched]
    if notes:
        more = len(notes) - 1
        rest = f" (and {counted(more, 'more note')} in the report)" if more else ""
        lines.append(f"note:        {notes[0]}{rest}")
    if watched:
        lines.append(f"watched:     {'; '.join(watched)}")
    return lines


def _watched(recommendation: Recommendation) -> list[str]:
    """Return a drift of the machine, and interference, where they are shown."""
    return [*drifted(recommendation.drift), *interfering(recommendation.interference)]

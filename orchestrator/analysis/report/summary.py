"""The last lines of a run: its answer and its files."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Final

import pandas as pd

from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.codes import Caveat, Health, Status
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.findings.reasons import pairs_of, why_no_front
from orchestrator.analysis.recommendation.front import front_table, main_front
from orchestrator.analysis.report.sections.trials import counts_of_states
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import counted, shown
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialState

MAX_LINES: Final = 8
_INDENT: Final = 13
_MOST_CHECKS: Final = 2
_SAID_ELSEWHERE: Final = ("data", "replay", "trials")
"""Checks that have lines of their own."""


def summary(
    tables: RunTables, found: Findings, *, run_dir: Path, width: int | None = None
) -> list[str]:
    """Return the last lines of a run, but for MLflow's and the resumption's: eight at most.

    The first one is the report's sentence. A replay has one more, which says that it is one.

    Args:
        tables: The run.
        found: Its findings.
        run_dir: The folder of its files.
        width: Columns of the terminal, which long lines are broken to, with an indent; None:
            nothing is broken.
    """
    trials, sweep = tables.trials, tables.sweep
    lines = [
        f"{sweep.name}: {found.sentence}",
        *_status(found),
        _states(trials),
        *_stand_in(sweep),
        *_replayed(sweep),
        _front(tables),
        *_checks(found),
        f"report:      {run_dir / 'report.html'}  (tables beside it: trials.csv, front.csv)",
    ]
    assert len(lines) <= MAX_LINES + bool(sweep.replayed)
    return lines if width is None else [part for line in lines for part in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> list[str]:
    """Return a line in parts of at most so many columns; a word that is longer stays whole."""
    return textwrap.wrap(
        line,
        max(width, 2 * _INDENT),
        subsequent_indent=" " * _INDENT,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _status(found: Findings) -> list[str]:
    """Return the status with what it rests on, and the settings to change."""
    if found.speedup is None:
        return []
    rests_on = found.why_not_known
    if found.status is Status.CONFIRMED:
        rests_on = pairs_of(found.speedup.pairs) if found.speedup.pairs else ""
    figures = _figures(found)
    changes = [f"{c.knob}={c.value} (baseline {c.baseline})" for c in found.changes]
    return [
        f"status:      {': '.join(filter(None, (found.status, rests_on)))}"
        + (f"  ({figures})" if figures else ""),
        f"settings:    {'  '.join(changes) or 'all as in the baseline'}",
    ]


def _figures(found: Findings) -> str:
    """Return the figures beside the speed, with the runs that they are of where these differ."""
    rule = found.rule
    others = [o.metric for o in (*rule.objectives, rule.accuracy) if o is not rule.speed]
    figures = [
        f"{name} {shown(name, found.figures[name])}"
        for name in dict.fromkeys([*others, rule.test_column.removeprefix("metrics.")])
        if not pd.isna(found.figures[name])
    ]
    timed, trained = found.num_runs["speed"], found.num_runs["accuracy"]
    composed = found.caveat(Caveat.COMPOSED)
    if composed is not None and found.composed:
        figures.append(f"composed: {composed['rests']}")
    elif figures and timed != trained:
        figures.append(f"{learned_word(rule)} of {counted(trained, 'run')}, speed of {timed}")
    return ", ".join(figures)


def _checks(found: Findings) -> list[str]:
    """Return the gravest warnings, those aside that have lines of their own."""
    warnings = [
        f"{check.name}: {check.text}"
        for check in found.checks
        if check.health is Health.WARNING and check.name not in _SAID_ELSEWHERE
    ]
    if more := len(warnings) - _MOST_CHECKS:
        warnings[_MOST_CHECKS:] = [f"{more} more in the report"] * (more > 0)
    return [f"warning:     {'; '.join(warnings)}"] if warnings else []


def _states(trials: pd.DataFrame) -> str:
    states = [f"{count} {words}" for words, count in counts_of_states(trials).items()]
    lost = trials[trials["state"].isin([TrialState.FAILED, TrialState.INFEASIBLE])]
    reasons = lost["reason"].value_counts()
    most = f" ({_first_line(reasons.index[0])})" if len(reasons) == 1 else ""
    ends = f": {', '.join(states)}{most}" if states else ""
    return f"trials:      {len(trials):,}{ends}"


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
    rule = tables.rule
    objectives = (rule.speed, *(o for o in rule.objectives if o is not rule.speed))
    table = main_front(front_table(tables))
    if table.empty:
        return f"front:       none: {why_no_front(tables)}"
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

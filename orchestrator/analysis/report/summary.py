"""The last lines of a run: its answer and its files."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Final

import pandas as pd

from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.codes import Caveat, Health, Status
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.findings.reasons import pairs_of
from orchestrator.analysis.recommendation.front import front_table, main_front
from orchestrator.analysis.report.sections.trials import counts_of_states
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import shown
from orchestrator.formats import counted
from orchestrator.trial import TrialState

MAX_LINES: Final = 8
_INDENT: Final = 13
_MOST_CHECKS: Final = 2
_SAID_ELSEWHERE: Final = ("data", "replay", "trials")
"""Checks that have their own lines."""


def summary(
    tables: RunTables, found: Findings, *, run_dir: Path | None, width: int | None = None
) -> list[str]:
    """Return the last lines of a run, without MLflow's and the resumption's: eight at most.

    The first one is the report's sentence. A replay has one more, which identifies it.

    Args:
        tables: The run.
        found: Its findings.
        run_dir: The folder of its files; None if none were written.
        width: Columns of the terminal; long lines are broken there, with an indent; None:
            nothing is broken.
    """
    sweep, files = tables.sweep, ""
    if run_dir is not None:
        files = f"{run_dir / 'report.html'}  (tables beside it: trials.csv, front.csv)"
    replay = f"recorded runs of {sweep.replayed} on a simulated clock: nothing was measured"
    changes = [f"{c.knob}={c.value} (baseline {c.baseline})" for c in found.changes]
    texts = {
        "status": _status(found),
        "settings": ("  ".join(changes) or "all as in the baseline") if found.config else "",
        "trials": _states(tables.trials),
        "data": sweep.data_note.partition(". To get")[0],
        "replay": replay if sweep.replayed else "",
        "front": _front(tables),
        "warning": _checks(found),
        "report": files,
    }
    lines = [f"{sweep.name}: {found.sentence}"]
    lines += [f"{f'{name}:':<{_INDENT}}{text}" for name, text in texts.items() if text]
    if width is None:
        return lines
    wrapper = textwrap.TextWrapper(max(width, 2 * _INDENT), subsequent_indent=" " * _INDENT)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return [part for line in lines for part in wrapper.wrap(line)]


def _status(found: Findings) -> str:
    """Return the status with its evidence, and the figures other than the speed."""
    if found.speedup is None:
        return ""
    rests_on = found.why_not_known
    if found.status is Status.CONFIRMED:
        rests_on = pairs_of(found.speedup.pairs) if found.speedup.pairs else ""
    figures = _figures(found)
    status = ": ".join(filter(None, (str(found.status), rests_on)))
    return f"{status}  ({figures})" if figures else status


def _figures(found: Findings) -> str:
    """Return the figures other than the speed, with their numbers of runs if these differ."""
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


def _checks(found: Findings) -> str:
    """Return the gravest warnings, without those that have their own lines."""
    warnings = [
        f"{check.name}: {check.text}"
        for check in found.checks
        if check.health is Health.WARNING and check.name not in _SAID_ELSEWHERE
    ]
    more = [f"{len(warnings) - _MOST_CHECKS} more in the report"]
    return "; ".join(warnings[:_MOST_CHECKS] + more * (len(warnings) > _MOST_CHECKS))


def _states(trials: pd.DataFrame) -> str:
    states = [f"{count} {words}" for words, count in counts_of_states(trials).items()]
    lost = trials[trials["state"].isin([TrialState.FAILED, TrialState.INFEASIBLE])]
    reasons = lost["reason"].str.strip().str.split("\n").str[0].unique()
    most = f" ({textwrap.shorten(reasons[0], 80)})" if len(reasons) == 1 else ""
    return ": ".join(filter(None, [f"{len(trials):,}", ", ".join(states)])) + most


def _front(tables: RunTables) -> str:
    rule, table = tables.rule, main_front(front_table(tables))
    if table.empty:
        return "none"
    metrics = [rule.speed.metric, *(o.metric for o in rule.objectives if o is not rule.speed)]
    ends = [table.iloc[0], table.iloc[-1]][: len(table)]
    texts = [", ".join(_figure(metric, row) for metric in metrics) for row in ends]
    num_composed = int(table[COMPOSED].sum())
    composed = f" ({num_composed} composed)" if num_composed else ""
    return f"{counted(len(table), 'config')}{composed}, from {' to '.join(texts)}"


def _figure(metric: str, row: pd.Series) -> str:
    text = shown(metric, row[f"metrics.{metric}"])
    return text if metric == "samples_per_s" else f"{metric} {text}"

"""The last lines of a run, its answer first; tables on the terminal."""

import os
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd
from rich import box
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table

from orchestrator.analysis.columns import text_of
from orchestrator.analysis.comparison.compare import Comparison, labels_of
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.recommendation import front as fronts
from orchestrator.analysis.report.first_screen import figures_of
from orchestrator.analysis.report.sections.trials import states_text
from orchestrator.analysis.rule import rule_of
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import interval_text, learned_word, shown
from orchestrator.metrics import Objective, is_learned
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.texts import cause, first_line
from orchestrator.trial import TrialState

MAX_ROWS: Final = 30
_WIDTH_OF_FILES: Final = 140
_WIDEST_KNOB: Final = 26
_NARROWEST: Final = dict.fromkeys(("ratio", "over the others'"), len("0.900 to 1.100"))
_IN_JSON: Final = "; --json has all"
_INDENT: Final = 13
_MOST_CHECKS: Final = 2


def summary(
    tables: RunTables, found: Findings, *, run_dir: Path, width: int | None = None
) -> list[str]:
    """Return the last lines of a run, without MLflow's and the resumption's: eight at most.

    The first one is the report's sentence. A replay has one more, which identifies it.

    Args:
        tables: The run.
        found: Its findings.
        run_dir: The folder of its files.
        width: Columns of the terminal; long lines are broken there, with an indent; None:
            nothing is broken.
    """
    sweep = tables.sweep
    replay = f"recorded runs of {sweep.replayed} on a simulated clock: nothing was measured"
    changes = [f"{c.knob}={c.value} (baseline {c.baseline})" for c in found.changes]
    texts = {
        "status": _status(found),
        "settings": ("  ".join(changes) or "all as in the baseline") if found.config else "",
        "trials": _states_text(tables.trials),
        "data": sweep.data_note.partition(". To get")[0],
        "replay": replay if sweep.replayed else "",
        "front": _front_text(tables),
        "warning": _checks(found),
        "report": f"{run_dir / RunFile.REPORT}  (tables beside it: trials.csv, front.csv)",
    }
    lines = [f"{sweep.name}: {found.sentence}"]
    lines += [f"{f'{name}:':<{_INDENT}}{text}" for name, text in texts.items() if text]
    if width is None:
        return lines
    wrapper = textwrap.TextWrapper(max(width, 2 * _INDENT), subsequent_indent=" " * _INDENT)
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return [part for line in lines for part in wrapper.wrap(line)]


def _status(found: Findings) -> str:
    """Return the status with its evidence, and the figures other than the speed.

    These have their numbers of runs if these differ.
    """
    if found.speedup is None:
        return ""
    speed = found.tables.rule.speed.metric
    rests_on = found.shown_by if found.status.is_shown else found.why_not_known
    others = [one for one in figures_of(found) if one[0].partition(" ")[0] != speed]
    figures = [f"{name} {value}" for name, value, _ in others]
    status = ": ".join(filter(None, (str(found.status), rests_on)))
    return f"{status}  ({', '.join(figures)})" if figures else status


def _checks(found: Findings) -> str:
    """Return the gravest warnings, without those that have their own lines."""
    warnings = [f"{check.code}: {check.text}" for check in found.warnings]
    more = [f"{len(warnings) - _MOST_CHECKS} more in the report"]
    return "; ".join(warnings[:_MOST_CHECKS] + more * (len(warnings) > _MOST_CHECKS))


def _states_text(trials: pd.DataFrame) -> str:
    lost = trials[trials["state"].isin([TrialState.FAILED, TrialState.INFEASIBLE])]
    reasons = lost["reason"].map(text_of)
    is_only = reasons.map(cause).nunique() == 1
    most = f" ({textwrap.shorten(first_line(reasons.iloc[0]), 80)})" if is_only else ""
    return ": ".join(filter(None, [f"{len(trials):,}", states_text(trials)])) + most


def _front_text(tables: RunTables) -> str:
    rule, table = tables.rule, fronts.main_front(fronts.front_table(tables))
    if table.empty:
        return "none"
    ends = [table.iloc[0], table.iloc[-1]][: len(table)]
    texts = [", ".join(_end(o.metric, row) for o in rule.objectives) for row in ends]
    return f"{fronts.count_text(table)}, from {' to '.join(texts)}"


def _end(metric: str, row: pd.Series) -> str:
    text = shown(metric, row[f"metrics.{metric}"])
    sign = "" if is_learned(metric) else fronts.load_sign_of(row.to_dict())
    return f"{text}{sign}" if metric == "samples_per_s" else f"{metric} {text}{sign}"


def show_run(tables: RunTables, found: Findings, folder: Path) -> None:
    """Print the last lines of a run, its answer first, then its front.

    Args:
        tables: The run.
        found: Its findings.
        folder: The folder of its files.
    """
    console = _console()
    width = console.width if console.is_terminal else None
    _print(console, *summary(tables, found, run_dir=folder, width=width))
    front = fronts.main_front(fronts.front_table(tables))
    if len(front):
        _print(console, "")
        show_front(front, tables.sweep.objectives, tables.sweep, folder=folder)
        _print(console, f"95 % intervals: {'; '.join(front['interval'].unique())}")


def show_front(
    front: pd.DataFrame,
    objectives: Sequence[Objective],
    sweep: SweepRecord,
    *,
    folder: Path | None = None,
) -> None:
    """Print a front: its configs by the knobs that differ, its objectives, its verdicts.

    Args:
        front: Its rows, as in the tables of configs.
        objectives: Its objectives, each a column with its own head.
        sweep: The sweep.
        folder: The folder where ``front.csv`` has all of its rows; None if there is none.
    """
    console = _console()
    names = " and ".join(f"{objective.metric} ({objective.goal})" for objective in objectives)
    if front.empty:
        _print(console, f"{sweep.name}: no config completed with {names}")
        return
    rows, learned = front.head(MAX_ROWS), learned_word(rule_of(sweep))
    labels = labels_of(rows, sweep)
    heads = (*(objective.metric for objective in objectives), "verdict", "runs")
    table = _table(f"{sweep.name}: the front of {names}", labels, "config", *heads)
    for label, row in zip(labels, rows.to_dict("records"), strict=True):
        figures = []
        for name in (objective.metric for objective in objectives):
            figure = row[name if name in row else f"metrics.{name}"]
            sign = "" if is_learned(name) else fronts.load_sign_of(row)
            figures.append(f"{shown(name, figure)}{sign}\n{interval_text(row, name)}".strip())
        runs = fronts.runs_text(row, learned).replace(" (", "\n(").replace(" to", "\nto")
        table.add_row(escape(label), *figures, row["verdict"], runs)
    console.print(table)
    if note := fronts.load_note(front):
        _print(console, note)
    if len(front) > MAX_ROWS:
        where = f" in {folder / RunFile.FRONT}" if folder is not None else _IN_JSON
        _print(console, f"... and {len(front) - MAX_ROWS} more{where}")


def show_comparison(comparison: Comparison) -> None:
    """Print the verdict on two runs, the configs that they share, and why others are missing."""
    console = _console()
    missing = comparison.mismatches.items()
    _print(
        console,
        comparison.sentence,
        # The first regression is in the sentence.
        *(f"regression: {line}" for line in comparison.regressions[1:MAX_ROWS]),
        *(f"in common, {line}" for line in comparison.common_texts),
        *(f"not compared, {count} times: {difference}" for difference, count in missing),
        *(f"note: {note}" for note in comparison.notes),
        "",
    )
    rows, changes = comparison.table.head(MAX_ROWS), comparison.changes
    labels = comparison.labels[: len(rows)]
    title = f"{comparison.metric}, second over first; 95 % intervals"
    heads = ("first\nsecond", *_NARROWEST, "verdict")
    table = _table(title, labels, "config, stage, runs", *heads)
    verdicts = changes[changes["metric"] == comparison.metric].set_index("row")["verdict"]
    for place, (label, row) in enumerate(zip(labels, rows.to_dict("records"), strict=True)):
        table.add_row(
            f"{escape(label)}\n{row['stage']}, {row['runs_first']} and {row['runs_second']}",
            "\n".join(shown("", row[f"speed_{side}"]) for side in ("first", "second")),
            _known(row["ratio"], row["low"], row["high"]),
            _known(row["own"], row["own_low"], row["own_high"]),
            str(verdicts.get(place, "")),
        )
    console.print(table)
    if len(comparison.table) > MAX_ROWS:
        _print(console, f"... and {len(comparison.table) - MAX_ROWS} more{_IN_JSON}")


def _known(centre: float, low: float, high: float) -> str:
    """Return a ratio with its interval beneath it, if the interval gives a figure."""
    return f"{centre:.3f}\n{low:.3f} to {high:.3f}" if is_narrow(low, high) else "not known"


def _table(title: str, labels: Sequence[str], first: str, *heads: str) -> Table:
    """Return an empty table, wide enough for the knobs of its labels, unless one is very long."""
    widest = max(len(word) for label in labels for word in label.split())
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold", ratio=1, min_width=min(widest, _WIDEST_KNOB))
    for head in heads:
        justify: JustifyMethod = "left" if head == "verdict" else "right"
        table.add_column(head, justify=justify, overflow="fold", min_width=_NARROWEST.get(head))
    return table


def _console() -> Console:
    """Return standard output; a file has no width, and gets one that tables fit in."""
    console = Console()
    has_width = console.is_terminal or "COLUMNS" in os.environ
    return console if has_width else Console(width=_WIDTH_OF_FILES)


def _print(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=not console.is_terminal)

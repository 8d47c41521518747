"""Text beside a config that is pointed at: a template for all, and each config's own words."""

from __future__ import annotations

import html
from collections.abc import Hashable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.columns import by_value, config_of, text_of
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.recommendation.front import MEASURED_IN, rests_on
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.wording import runs_text, short, shown, telling_knobs, verdict_text
from orchestrator.trial import Stage

_FIGURES: Final = ("test_acc", "step_ms", "epoch_s", "peak_rss_gib")


def telling(view: View) -> list[str]:
    """Return the knobs that tell the drawn configs apart, or from the baseline."""
    configs = view.shown
    names = [name for name in view.sweep.knobs if f"params.{name}" in configs]
    vary = {name for name in names if configs[f"params.{name}"].nunique() > 1}
    first = [config_of(row, view.sweep) for row in configs.head(1).to_dict("records")]
    told = telling_knobs(first, view.sweep)
    return [name for name in names if name in vary or name in told]


def hover(view: View, rows: pd.DataFrame) -> tuple[npt.NDArray[np.str_], str]:
    """Return plotly's ``customdata`` of the rows, and the ``hovertemplate`` that shows it.

    Every word is safe to show as HTML.
    """
    knobs = [name for name in telling(view) if f"params.{name}" in rows]
    metrics = [
        metric
        for metric in dict.fromkeys([*(o.metric for o in view.objectives), *_FIGURES])
        if f"metrics.{metric}" in rows and rows[f"metrics.{metric}"].notna().any()
    ]
    lines = [f"<b>{html.escape(name)}=%{{customdata[{n}]}}</b>" for n, name in enumerate(knobs)]
    lines += [
        f"{html.escape(metric)}: %{{customdata[{n}]}}"
        for n, metric in enumerate(metrics, start=len(knobs))
    ]
    lines += [f"%{{customdata[{len(knobs) + len(metrics)}]}}"]
    learned = learned_word(view.rule)
    parts = [
        *(
            by_value(rows[f"params.{name}"], lambda value: html.escape(short(value)))
            for name in knobs
        ),
        *([shown(m, value) for value in rows[f"metrics.{m}"]] for m in metrics),
        ["<br>".join(map(html.escape, _grounds(row, learned))) for row in _records(rows)],
    ]
    # Of one width, for plotly copies it cell by cell otherwise.
    words = np.array(list(zip(*parts, strict=True)), dtype=np.str_)
    return words, "<br>".join(lines) + "<extra></extra>"


def _records(rows: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows with what :func:`_grounds` asks for alone."""
    left_out = ("params.", "metrics.", "trial_ids", "timed_ids")
    return rows[[c for c in rows.columns if not c.startswith(left_out)]].to_dict("records")


def _grounds(row: Mapping[Any, Any], learned: str) -> list[str]:
    """Return what the figures of a config rest on, and how it stands against the best."""
    against_best = [text] if (text := verdict_text(row)) else []
    bound = [f"bound by: {tag}"] if (tag := text_of(row.get("tags.bound"))) else []
    if row[MEASURED_IN] == Stage.CONFIRM:
        rest = f"; {learned} composed" if row.get(COMPOSED, False) else ""
        runs = f"confirm runs: {row['num_runs']}, {row['interval']}{rest}"
    elif row.get(COMPOSED, False):
        runs = f"composed: {rests_on(row, learned)}, {row['interval']}"
    else:
        runs = f"runs: {runs_text(row, learned)}, {row['interval']}"
    return [*against_best, *bound, runs]

"""The wall that configs ran into: memory over batch size, with the limit that ended them."""

from __future__ import annotations

import html
import re
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import configs_of, params_of, text_of
from orchestrator.analysis.report.figures import Drawing, Figure
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.style import AMBER, MUTED, RANKED, axis
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import format_config, shown
from orchestrator.formats import counted
from orchestrator.trial import TrialState

HOST: Final = "metrics.peak_rss_gib"
DEVICE: Final = "metrics.peak_gpu_gib"

_START: Final = "out of memory"
_OF_DEVICE: Final = re.compile(r"CUDA|OutOfMemoryError|\bGPU\b")
_LIMIT: Final = re.compile(r"limit of ([\d.]+) GiB|total capacity of ([\d.]+) GiB")
_TAKEN: Final = re.compile(r"([\d.]+) GiB of its own|killed .* at ([\d.]+) GiB")
_PREFERRED: Final = "params.batch_size"
_LOG_FROM_RATIO: Final = 8.0


def walls_of(view: View) -> Section:
    """Return the walls of memory that configs ran into; without figures where none did."""
    ended = infeasible_for_memory(view)
    figures = [
        figure
        for column in (HOST, DEVICE)
        if (figure := memory_wall(view, ended[ended["memory"] == column], column)) is not None
    ]
    return Section(name="walls", title="the memory wall", level=3, figures=tuple(figures))


def infeasible_for_memory(view: View) -> pd.DataFrame:
    """Return the trials that ended for lack of memory, one row a config.

    Added are ``memory``, the column of the memory that ran out, ``taken_gib``, what the trial had
    when it ended (at least: its peak as far as it was sampled), and ``limit_gib``; NaN where the
    reason does not say.
    """
    reasons = view.trials["reason"].map(text_of)
    is_ended = (view.trials["state"] == TrialState.INFEASIBLE) & reasons.str.contains(_START)
    rows, reasons = view.trials[is_ended], reasons[is_ended]
    of_device = reasons.str.contains(_OF_DEVICE)
    columns = pd.Series(np.where(of_device, DEVICE, HOST), index=rows.index, dtype="object")
    sampled = [row.get(name) for name, row in zip(columns, rows.to_dict("records"), strict=True)]
    taken = pd.Series(sampled, index=rows.index, dtype="float64")
    known = rows.assign(
        memory=columns,
        limit_gib=_number(reasons, _LIMIT),
        taken_gib=_number(reasons, _TAKEN).fillna(taken),
    )
    return known.drop_duplicates(params_of(rows))


def memory_wall(view: View, ended: pd.DataFrame, column: str) -> Figure | None:
    """Draw peak memory over batch size, or the knob that tells it best; None where none ran out.

    Args:
        view: The run.
        ended: Trials from :func:`infeasible_for_memory` that ran out of this memory.
        column: :data:`HOST` or :data:`DEVICE`.
    """
    configs = view.configs
    drawn = ended.assign(taken_gib=ended["taken_gib"].fillna(ended["limit_gib"]))
    drawn = drawn.dropna(subset=["taken_gib"])
    if drawn.empty or column not in configs.columns:
        return None
    knob = _knob(configs, drawn, column)
    if knob is None:
        return None
    done = configs.dropna(subset=[column])
    figure = Drawing(height=360, hovermode="closest")
    _add_marks(figure, done[knob], done[column], done["label"], "completed", RANKED.colour)
    names = [format_config(c, view.sweep) for c in configs_of(drawn, view.sweep)]
    labels = pd.Series(names, index=drawn.index)
    _add_marks(figure, drawn[knob], drawn["taken_gib"], labels, "out of memory", AMBER, "x")
    limits = sorted(set(drawn["limit_gib"].dropna()))
    for limit in limits:
        text = f"limit {shown('peak_rss_gib', limit)}"
        figure.line(limit, text=text, color=MUTED, dash="dash", width=1)
    name = knob.removeprefix("params.")
    memory = "peak GPU memory (GiB)" if column == DEVICE else "peak memory (GiB)"
    figure.axes(
        axis(name, **_scale(pd.concat([done[knob], drawn[knob]]))),
        axis(memory, rangemode="tozero"),
    )
    return Figure(
        name=f"memory-wall{'-gpu' if column == DEVICE else ''}",
        drawing=figure,
        table=_table(done, drawn, labels, knob, column),
        caption=_caption(ended, drawn, limits, column),
        label=f"Peak memory over {name}: {counted(len(drawn), 'config')} ran out of memory.",
    )


def _add_marks(
    figure: Drawing, x: pd.Series[Any], y: pd.Series[Any], labels: pd.Series[str], name: str,
    colour: str,    symbol: str = RANKED.symbol,
) -> None:  # fmt: skip
    figure.add(
        "scatter",
        x=x.tolist(),
        y=y.tolist(),
        mode="markers",
        name=name,
        marker={"color": colour, "symbol": symbol, "size": 10 if symbol == "x" else 8},
        text=[html.escape(label) for label in labels],
        hovertemplate="%{text}<br>%{y:.2f} GiB<extra>" + name + "</extra>",
    )


def _knob(configs: pd.DataFrame, ended: pd.DataFrame, column: str) -> str | None:
    """Return the numeric knob to draw memory over: the batch size, or the one that tells it best.

    That is the one whose ranks correlate most with those of memory, infeasible configs included.
    """
    both = pd.concat([configs, ended.assign(**{column: ended["taken_gib"]})])
    varied = [
        name
        for name in params_of(both)
        if both[name].nunique() > 1
        and pd.api.types.is_numeric_dtype(both[name])
        and not pd.api.types.is_bool_dtype(both[name])
    ]
    if _PREFERRED in varied or not varied:
        return _PREFERRED if varied else None
    ranks = both[[*varied, column]].astype("float64").rank()
    told = ranks.corr()[column].drop(column).abs().dropna()
    return str(told.idxmax() if len(told) else varied[0])  # all may have had the same memory


def _scale(values: pd.Series[Any]) -> dict[str, Any]:
    """Return the axis of a knob: logarithmic where its values are, with a tick for each of few."""
    known = sorted({float(value) for value in values})
    is_log = known[0] > 0 and known[-1] / known[0] >= _LOG_FROM_RATIO
    ticks = {"tickvals": known, "ticktext": [f"{v:g}" for v in known]} if len(known) <= 8 else {}
    return {"type": "log" if is_log else "linear", **ticks}


def _number(reasons: pd.Series[str], pattern: re.Pattern[str]) -> pd.Series[float]:
    """Return the number that a pattern finds in each reason; NaN for none."""
    found = reasons.str.extract(pattern)
    number: pd.Series[float] = found.bfill(axis=1).iloc[:, 0].astype("float64")
    return number


def _table(
    done: pd.DataFrame, ended: pd.DataFrame, labels: pd.Series[str], knob: str, column: str
) -> pd.DataFrame:
    rows = ended.assign(**{column: ended["taken_gib"]}, label=labels, state="infeasible")
    both = pd.concat([done.assign(state="completed", limit_gib=np.nan), rows])
    return both[["label", "state", knob, column, "limit_gib"]].rename(columns={"label": "config"})


def _caption(ended: pd.DataFrame, drawn: pd.DataFrame, limits: list[float], column: str) -> str:
    at_limit = int(drawn.index.isin(ended.index[ended["taken_gib"].isna()]).sum())
    unknown = len(ended) - len(drawn)
    parts = [
        "Peak memory of each completed config. A cross: a config that ran out, at what it had by "
        "then; it would have needed more.",
        f"{counted(at_limit, 'cross')} at the limit: what it had is not known." if at_limit else "",
        "The limit is on memory of a trial's own; the peak also counts pages of files."
        if limits and column == HOST
        else "",
        f"{counted(unknown, 'more config')} ran out; what it had is not known." if unknown else "",
    ]
    return " ".join(part for part in parts if part)

"""Settings: the config for each wish; the ladder from the baseline to the recommended config.

The ladder has a knob a step, with its effect. Its steps are configs that were run. Each changes as
few knobs as these allow; of several such configs it takes the fastest. The figures are from the
searching runs, as in the table of configs.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from textwrap import shorten
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import TableError, config_of
from orchestrator.analysis.knobs.figures import Figures, Verdict
from orchestrator.analysis.knobs.of_run import figures_of
from orchestrator.analysis.recommendation.front import sign_of
from orchestrator.analysis.report import tables
from orchestrator.analysis.report.drawing import Figure
from orchestrator.analysis.report.sections import effects
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import Rule, column_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import short
from orchestrator.metrics import Goal, Objective, is_accuracy, minimize
from orchestrator.space.configs import changed_knobs, format_setting

_LONGEST: Final = 60
_MEMORY: Final = ("peak_gpu_gib", "peak_rss_gib")


def choices_of(view: View) -> tables.Section | None:
    """Return the section; None if no config completed."""
    rows, rule = view.shown, view.rule
    wishes = {"recommended": rows["is_recommended"], "baseline": rows["is_baseline"]}
    memory = [minimize(name) for name in tables.measured(rows, _MEMORY)]
    others = {o.metric: o for o in (rule.accuracy, *rule.objectives[1:], *memory[:1])}
    for metric, objective in others.items():
        if metric != rule.speed.metric and tables.measured(rows, [metric]):
            wishes[_wish(objective)] = _is_best(view, objective)
    found = pd.concat([rows[of].head(1).assign(wish=wish) for wish, of in wishes.items()])
    if found.empty:
        return None
    words = found.groupby(level=0, sort=False)["wish"].agg(", ".join)
    found = found[~found.index.duplicated()].assign(wish=words)
    metrics = dict.fromkeys([rule.speed.metric, "epoch_s", *others])
    columns: list[tables.Column] = [
        tables.text_column("for", "wish"),
        ("settings", lambda row: tables.Cell(_settings(row, view), style="reason")),
        *tables.figure_columns(tables.measured(found, metrics), sign_of),
    ]
    marks = tuple("recommended" if own else "" for own in found["is_recommended"])
    table = tables.table_of(found.to_dict("records"), columns, marks=marks)
    return tables.Section("choices", "Which config for what", table=table)


def _wish(objective: Objective) -> str:
    """Return ``most accuracy``, ``least memory`` or ``least val_loss``."""
    metric = objective.metric
    what = "accuracy" if is_accuracy(metric) else "memory" if metric.endswith("_gib") else metric
    return f"{'least' if objective.goal is Goal.MINIMIZE else 'most'} {what}"


def _is_best(view: View, objective: Objective) -> "pd.Series[bool]":
    """Return True for the best config by a figure; those that meet the rule come first."""
    figures: pd.Series[float] = objective.sign * view.shown[column_of(objective)]
    meets = view.shown["verdict"] != ""
    if objective.metric != view.rule.accuracy.metric and figures[meets].notna().any():
        figures = figures.where(meets)
    return figures.eq(figures.max())


def _settings(row: tables.Row, view: View) -> str:
    config = config_of(row, view.sweep)
    changed = changed_knobs(config, view.sweep.baseline)
    return " ".join(f"{name}={short(config[name])}" for name in changed) or "the baseline's"


class Step(NamedTuple):
    """One step: the knobs that change, and their effect.

    Attributes:
        changes: The new value of each knob, by name; several if the configs between were not
            run, so that the effect of each is not known.
        effects: Its effect on the first objective and on the accuracy, by metric, as a row of
            :meth:`~orchestrator.analysis.knobs.figures.Figures.effect`; None if it is not known.
    """

    changes: Mapping[str, Any]
    effects: Mapping[str, dict[str, Any] | None]

    @property
    def text(self) -> str:
        """The changes in the form of the command line."""
        return " ".join(format_setting(name, value) for name, value in self.changes.items())


def ladder(run: RunTables, config: Mapping[str, Any]) -> list[Step]:
    """Return the ladder from the sweep's baseline to a config.

    Raises:
        TableError: The config is the baseline, or an end of the ladder has no speed.
    """
    baseline = run.sweep.baseline
    changed = {name: config[name] for name in changed_knobs(config, baseline)}
    if not changed:
        raise TableError("the config is the baseline")
    speed, accuracy = run.rule.speed.metric, run.rule.accuracy.metric
    figures = {m: next(iter(figures_of(run, m)), None) for m in (speed, accuracy)}
    nodes = {m: _nodes(of, baseline, changed) if of else {} for m, of in figures.items()}
    of_speed = figures[speed]
    if of_speed is None or not {0, 2 ** len(changed) - 1} <= set(nodes[speed]):
        raise TableError("the baseline or the config has no speed of a completed searching run")
    sign = run.rule.speed.sign
    gains = {node: sign * float(of_speed.levels[row]) for node, row in nodes[speed].items()}
    bits = [(1 << index, item) for index, item in enumerate(changed.items())]
    return [
        Step(
            {name: value for bit, (name, value) in bits if bit & end & ~start},
            {m: _effect(of, nodes[m], start, end) for m, of in figures.items()},
        )
        for start, end in pairwise(_way(gains))
    ]


def _nodes(
    figures: Figures, baseline: Mapping[str, Any], changed: Mapping[str, Any]
) -> dict[int, int]:
    """Return the rows of the configs between the two that have a figure.

    The key is a number; its bits show which knobs have changed.
    """
    inside, nodes = figures.known.copy(), np.zeros(len(figures.points), dtype=np.int64)
    bits = {name: 1 << index for index, name in enumerate(changed)}
    for name, codes in figures.points.codes.items():
        is_changed = np.zeros(len(codes), dtype=np.bool_)
        if name in changed:
            is_changed = codes == figures.code(name, changed[name])
        inside &= is_changed | (codes == figures.code(name, baseline.get(name)))
        nodes += bits.get(name, 0) * is_changed
    rows = np.flatnonzero(inside)
    return dict(zip(nodes[rows].tolist(), rows.tolist(), strict=True))


def _way(levels: Mapping[int, float]) -> list[int]:
    """Return the configs to go through, by their numbers, from 0 to the one with all bits."""
    way = [0]
    while (here := way[-1]) != max(levels):
        after = [node for node in levels if node & here == here and node != here]
        way.append(min(after, key=lambda node: (node.bit_count(), -levels[node])))
    return way


def _effect(
    figures: Figures | None, nodes: Mapping[int, int], start: int, end: int
) -> dict[str, Any] | None:
    if figures is None or start not in nodes or end not in nodes:
        return None
    return figures.effect(np.array([nodes[start]]), np.array([nodes[end]]))


def ladder_of(view: View) -> tables.Section | None:
    """Return the section; None if nothing is recommended."""
    config, name = view.findings.config, "ladder"
    title = "From the baseline to the recommended settings"
    if config is None:
        return None
    try:
        steps = ladder(view.tables, config)
    except TableError as error:
        return tables.Section(name, title, missing=f"there is no ladder ({error})")
    heads = [("change of " + metric, tables.INTERVAL, "verdict") for metric in steps[0].effects]
    rows = tuple(
        (
            tables.Cell(step.text, style="reason"),
            *chain(*(effects.effect_cells(row, view.rule) for row in step.effects.values())),
        )
        for step in steps
    )
    known = [row for step in steps for row in step.effects.values() if row and row["num"]]
    joint = [
        f"what each of {', '.join(step.changes)} brings is not known: no config between was run"
        for step in steps
        if len(step.changes) > 1
    ]
    return tables.Section(
        name,
        title,
        table=tables.Table(head=("step", *chain(*heads)), rows=rows),
        notes=(*effects.legend_of(known), *joint),
        figures=_figures(steps, view.rule),
    )


def _figures(steps: Sequence[Step], rule: Rule) -> tuple[Figure, ...]:
    """Draw what each step brings in the first objective; () if that is known for no step."""
    known = [
        (shorten(step.text, _LONGEST, placeholder=" ..."), row)
        for step in steps
        if (row := step.effects[rule.speed.metric]) is not None
        if row["verdict"] != Verdict.SAME_RUNS and not effects.is_too_wide(row)
    ]
    if not known:
        return ()
    labels, rows = zip(*known, strict=True)
    return (effects.forest("step", "ladder-steps", rows, labels, rule),)

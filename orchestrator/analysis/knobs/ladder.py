"""The ladder from the baseline to another config, one knob at a time, with each knob's effect.

Its steps are configs that were run. Among the ways through them, the ladder takes the one with the
most steps of one knob, among these the one with the most steps, and then the largest gains first.
The figures are those of the searching runs, as in the table of configs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.knobs.of_run import figures_of
from orchestrator.analysis.statistics.matched_pairs import Mean
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.space.configs import format_setting, format_value


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step: the knobs that change, and their effect.

    Attributes:
        changes: The new value of each knob, by name; several if the configs between were not
            run, so that the effect of each is not known.
        speed: The ratio of the first objective, or None if the two are from the same runs.
        accuracy: The difference of the accuracy, or None if it is not known.
        to_try: If several knobs change: ``--set`` options of the configs that would separate
            their effects.
    """

    changes: Mapping[str, Any]
    speed: Mean | None
    accuracy: Mean | None
    to_try: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The changes in the form of the command line."""
        return " ".join(format_setting(name, value) for name, value in self.changes.items())


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """The steps from the baseline to a config; none if ``note`` gives a reason."""

    steps: tuple[Step, ...] = ()
    note: str = ""


def ladder(tables: RunTables, config: Mapping[str, Any]) -> Ladder:
    """Return the ladder from the sweep's baseline to a config.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    baseline = tables.sweep.baseline
    changed = {
        name: value
        for name, value in config.items()
        if name in baseline and format_value(value) != format_value(baseline[name])
    }
    if not changed:
        return Ladder(note="the config is the baseline")
    metrics = (tables.rule.speed.metric, tables.rule.accuracy.metric)
    speed, accuracy = (_first(figures_of(tables, metric)) for metric in metrics)
    nodes = _nodes(speed, baseline, changed)
    ends = {"the baseline": 0, "the config": 2 ** len(changed) - 1}
    lacking = [name for name, node in ends.items() if node not in nodes]
    if speed is None or lacking:
        return Ladder(note=f"{' and '.join(lacking)}: no speed of a completed searching run")
    gains = {node: speed.sign * float(speed.levels[row]) for node, row in nodes.items()}
    way = _way(gains)
    return Ladder(
        steps=tuple(
            Step(
                changes=_names(end & ~start, changed),
                speed=_mean(speed, nodes, start, end),
                accuracy=_mean(accuracy, _nodes(accuracy, baseline, changed), start, end),
                to_try=_between(start, end, changed),
            )
            for start, end in pairwise(way)
        )
    )


def _first(figures: Sequence[Figures]) -> Figures | None:
    return next(iter(figures), None)


def _nodes(
    figures: Figures | None, baseline: Mapping[str, Any], changed: Mapping[str, Any]
) -> dict[int, int]:
    """Return the rows of the configs between the two that have a figure.

    The key is a number; its bits show which knobs have changed.
    """
    if figures is None:
        return {}
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
    nodes = np.array(sorted(levels, key=int.bit_count, reverse=True))
    gains = np.array([levels[node] for node in nodes.tolist()])
    num_single, num_steps = np.zeros(len(nodes)), np.zeros(len(nodes))
    after = {int(nodes[0]): int(nodes[0])}
    for index, node in enumerate(nodes.tolist()[1:], start=1):
        above = np.flatnonzero((nodes[:index] & node == node) & (nodes[:index] != node))
        added = nodes[above] ^ node
        single = num_single[above] + (added & (added - 1) == 0)
        order = np.lexsort((-gains[above], -num_steps[above], -single))
        best = int(above[order[0]])
        num_single[index], num_steps[index] = single[order[0]], num_steps[best] + 1
        after[node] = int(nodes[best])
    way = [0]
    while way[-1] != after[way[-1]]:
        way.append(after[way[-1]])
    return way


def _names(bits: int, changed: Mapping[str, Any]) -> dict[str, Any]:
    return {name: changed[name] for index, name in enumerate(changed) if bits >> index & 1}


def _mean(figures: Figures | None, nodes: Mapping[int, int], start: int, end: int) -> Mean | None:
    if figures is None or start not in nodes or end not in nodes:
        return None
    return figures.mean([np.array([nodes[start]]), np.array([nodes[end]])], (-1, 1))


def _between(start: int, end: int, changed: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the configs with one knob of a joint step changed, as ``--set`` options."""
    joint = _names(end & ~start, changed)
    if len(joint) == 1:
        return ()
    before = _names(start, changed)
    return tuple(
        " ".join(f"--set {format_setting(*item)}" for item in (before | {name: value}).items())
        for name, value in joint.items()
    )

"""The page of results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from benchmarks.harness import environment_lines
from benchmarks.search.rivals import TARGETS

Line = dict[str, Any]

GOALS: Final = (
    ("lenet", "share", "2,000 configs of LeNet: share of the grid", 0.040, 0.025),
    ("pollux-cifar10", "share", "Pollux, cifar10: share", 0.075, 0.04),
    ("lenet-200", "share", "200 configs of LeNet: share", 0.139, 0.111),
    ("sage-long", "share", "GraphSAGE, trainings of 29 s: share", 0.32, 0.2),
    ("sage", "share", "GraphSAGE, trainings of 7 s: share", 0.66, 0.45),
    ("pollux-imagenet", "hypervolume", "Pollux, ImageNet: hypervolume", 0.905, 0.99),
    ("pollux-speed", "share", "systems alone: share", 0.015, 0.005),
    ("lenet-learning", "share", "learning alone: share", 0.76, 0.3),
    ("lenet", "time_on_ten", "ten nodes: share of the time", 1 / 3.5, 1 / 7),
)
"""Truth, figure, what it is, what it was when the goals were set, and the goal."""


def page_lines(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the page of results as Markdown."""
    yield from environment_lines("optuna", "pandas", "scipy")
    for truth in dict.fromkeys(line["truth"] for line in lines):
        yield from ["", f"## {truth}", ""]
        yield from _found([line for line in lines if line["truth"] == truth])
        yield from _costs([line for line in lines if line["truth"] == truth])


def goals_lines(lines: Sequence[Line]) -> Iterator[str]:
    """Yield each goal with what the factored search reaches in the median, confirm counted."""
    own = [line for line in lines if line["search"] == "factored"]
    yield from [
        "",
        "| what | was | goal | now, median (worst) | |",
        "| --- | --- | --- | --- | --- |",
    ]
    for truth, figure, what, was, goal in GOALS:
        values = [line[figure] for line in own if line["truth"] == truth]
        if values:
            is_more = goal > was
            median, worst = float(np.median(values)), (min if is_more else max)(values)
            verdict = (
                "reached" if (median >= goal if is_more else median <= goal) else "not reached"
            )
            yield f"| {what} | {was:.3f} | {goal:.3f} | {median:.3f} ({worst:.3f}) | {verdict} |"


def _found(lines: Sequence[Line]) -> Iterator[str]:
    yield "| search | seeds | share of the grid | hypervolume | epsilon | regret |"
    yield "| --- | ---: | --- | --- | --- | --- |"
    for search in ("factored", "grid once"):
        own = [line for line in lines if line["search"] == search]
        if own:
            yield (
                f"| {search} | {len(own)} | {_median(own, 'share', worst=max)} | "
                f"{_median(own, 'hypervolume', worst=min)} | {_median(own, 'epsilon', worst=max)} "
                f"| {_median(own, 'regret', worst=max)} |"
            )
    own = [line for line in lines if line["search"] == "factored"]
    if own:
        shares = ", ".join(
            f"{stage} {np.median([line[f'{stage}_share'] for line in own]):.1%}"
            for stage in ("probe", "train", "confirm")
        )
        trials = np.median([line["trials"] for line in own])
        yield ""
        yield f"The factored search: {shares} of the grid, {trials:.0f} runs (medians)."


def _median(lines: Sequence[Line], name: str, worst: Any) -> str:  # noqa: ANN401 - min or max
    values = [line[name] for line in lines]
    return f"{np.median(values):.4f} (worst {worst(values):.4f})"


def _costs(lines: Sequence[Line]) -> Iterator[str]:
    rivals = [line for line in lines if "reached" in line]
    if not rivals:
        return
    heads = " | ".join(f"share to {target:g} | reached" for target in TARGETS)
    yield from ["", f"| search | {heads} |", f"| --- |{' --- | --- |' * len(TARGETS)}"]
    for search in dict.fromkeys(line["search"] for line in rivals):
        own = [line for line in rivals if line["search"] == search]
        cells = []
        for target in TARGETS:
            shares = [line["reached"][f"{target:g}"] for line in own]
            median = float(np.median(shares))
            num_reached = sum(map(math.isfinite, shares))
            cells.append(f"{median:.3f}" if math.isfinite(median) else "not reached")
            cells.append(f"{num_reached} of {len(own)}")
        yield f"| {search} | {' | '.join(cells)} |"

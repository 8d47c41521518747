"""The page of results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.harness import environment_lines
from benchmarks.search.rivals import TARGETS

Line = dict[str, Any]


def page_lines(lines: Sequence[Line]) -> Iterator[str]:
    """Yield the page of results as Markdown."""
    yield from environment_lines("optuna", "pandas", "scipy")
    for truth in dict.fromkeys(line["truth"] for line in lines):
        yield from ["", f"## {truth}", ""]
        yield from _found([line for line in lines if line["truth"] == truth])
        yield from _costs([line for line in lines if line["truth"] == truth])


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

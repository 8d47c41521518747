"""A picture of the front as SVG, for places that show no page (MLflow's artifacts)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from orchestrator.analysis.report.drawing import FONT, GRID, INK, MUTED, PAPER, Figure

_WIDTH, _HEIGHT = 800, 500
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 50, 50
_SHAPES: Final = {
    "square": "M-1,-1H1V1H-1Z",
    "diamond": "M0,-1.3L1.3,0L0,1.3L-1.3,0Z",
    "star": "M0,-1.4L.4,-.45L1.4,-.4L.6,.2L.9,1.2L0,.6L-.9,1.2L-.6,.2L-1.4,-.4L-.4,-.45Z",
    "circle": "M-1,0A1,1 0 1 0 1,0A1,1 0 1 0 -1,0Z",
}
"""Path of each of plotly's marks that the page draws, in units of half its size."""


def front_picture(figures: Sequence[Figure], title: str) -> str:
    """Return the page's pictures of the front, one below the other, as one SVG.

    Args:
        figures: Of :func:`~orchestrator.analysis.report.sections.scatter.scatter_figures`.
        title: Words above them.
    """
    panels = [
        f'<g transform="translate(0,{place * _HEIGHT})">{"".join(_panel(figure))}</g>'
        for place, figure in enumerate(figures)
    ]
    height = _HEIGHT * max(len(figures), 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="{escape(FONT)}" font-size="12" fill="{MUTED}">'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>'
        f"{_text(_LEFT, 18, title, fill=INK, font_size=14)}{''.join(panels)}</svg>\n"
    )


class _Axis:
    """An axis from the figures' values to places in the picture."""

    def __init__(
        self, axis: Mapping[str, Any], values: Sequence[float], start: int, end: int
    ) -> None:
        self.is_log, self.percent = axis.get("type") == "log", "%" in axis.get("tickformat", "")
        scaled = [math.log10(value) if self.is_log else value for value in values]
        low, high = axis.get("range") or (min(scaled, default=0.0), max(scaled, default=1.0))
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        self.low, self.high, self._ends = low - room, high + room, (start, end)

    def __call__(self, value: float) -> float | None:
        """Return the place of a value; None if it is not in sight."""
        scaled = math.log10(value) if self.is_log else value
        start, end = self._ends
        share = (scaled - self.low) / (self.high - self.low)
        return round(start + (end - start) * share, 1) if 0 <= share <= 1 else None

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield the places of a few round values with their text."""
        if self.is_log:
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        else:
            raw = (self.high - self.low) / 6
            power = 10.0 ** math.floor(math.log10(raw))
            step = next(n * power for n in (1, 2, 5, 10) if n * power >= raw)
            first = math.ceil(self.low / step)
            values = [place * step for place in range(first, math.floor(self.high / step) + 1)]
        for value in values:
            place = self(value)
            if place is not None:
                yield place, f"{100 * value:.6g} %" if self.percent else f"{value:,.6g}"


def _panel(figure: Figure) -> Iterator[str]:
    """Yield the parts of one picture: axes, lines, marks, legend."""
    drawing, bottom, right = figure.to_json(), _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    traces, layout = drawing["data"], drawing["layout"]
    points = [
        [pair for pair in zip(t["x"], t["y"], strict=True) if None not in pair] for t in traces
    ]
    xs, ys = ([pair[side] for some in points for pair in some] for side in (0, 1))
    x_axis = _Axis(layout["xaxis"], xs, _LEFT, right)
    y_axis = _Axis(layout["yaxis"], ys, bottom, _TOP)
    titles = [layout[name]["title"]["text"] for name in ("xaxis", "yaxis")]
    for place, text in x_axis.ticks():
        yield _line(place, _TOP, place, bottom, GRID)
        yield _text(place, bottom + 16, text, text_anchor="middle")
    for place, text in y_axis.ticks():
        yield _line(_LEFT, place, right, place, GRID)
        yield _text(_LEFT - 6, place + 4, text, text_anchor="end")
    middle = (_TOP + bottom) / 2
    yield _text((_LEFT + right) / 2, bottom + 38, titles[0], text_anchor="middle")
    yield _text(16, middle, titles[1], text_anchor="middle", transform=f"rotate(-90 16 {middle})")
    for shape in layout.get("shapes", ()):
        at = y_axis(shape["y0"])
        if at is not None:
            yield _line(_LEFT, at, right, at, shape["line"]["color"])
    for trace, pairs in zip(traces, points, strict=True):
        places = [(x_axis(x), y_axis(y)) for x, y in pairs]
        seen = [(x, y) for x, y in places if x is not None and y is not None]
        if trace["mode"] == "lines":
            yield _edge(seen, trace["line"])
        else:
            yield from (_mark(x, y, trace["marker"]) for x, y in seen)
    left = float(_LEFT)
    for trace in reversed([t for t in traces if t.get("showlegend", True)]):
        name, size = str(trace["name"]), min(trace["marker"]["size"], 12)
        yield _mark(left + 6, _TOP - 14, {**trace["marker"], "size": size})
        yield _text(left + 16, _TOP - 10, name)
        left += 28 + 6.6 * len(name) + 5 * name.count("m")  # no letter is as wide
    if figure.rest:
        hidden = figure.rest.removeprefix("Show ").removesuffix(" too")
        yield _text(right, 18, f"not in sight: {hidden}", text_anchor="end")


def _mark(x: float, y: float, marker: Mapping[str, Any]) -> str:
    name = str(marker["symbol"])
    is_open, colour, half = name.endswith("-open"), marker["color"], marker["size"] / 2
    fill, stroke = ("none", colour) if is_open else (colour, PAPER)
    return (
        f'<path d="{_SHAPES[name.removesuffix("-open")]}" fill="{fill}" stroke="{stroke}" '
        f'transform="translate({x},{y}) scale({half:g})" stroke-width="{1 / half:.2g}"/>'
    )


def _edge(points: Sequence[tuple[float, float]], line: Mapping[str, Any]) -> str:
    """Return the edge of what the front dominates: from point to point by way of a corner."""
    start = "".join(f"M{x},{y}" for x, y in points[:1])
    is_up = line["shape"] == "vh"
    path = start + "".join(f"V{y}H{x}" if is_up else f"H{x}V{y}" for x, y in points[1:])
    return f'<path d="{path}" fill="none" stroke="{line["color"]}" stroke-width="1.2"/>'


def _line(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, **more: object) -> str:
    settings = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x}" y="{y}"{settings}>{escape(text)}</text>'

"""A picture of the front as SVG, for places that show no page (MLflow's artifacts)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from orchestrator.analysis.report.figures import Figure
from orchestrator.analysis.report.style import FAINT, FONT, GRID, INK, MUTED, PAPER

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
        room = 0.0 if axis.get("range") else 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        self.low, self.high, self._ends = low - room, high + room, (start, end)

    def __call__(self, value: float) -> float:
        scaled = math.log10(value) if self.is_log else value
        start, end = self._ends
        return round(start + (end - start) * (scaled - self.low) / (self.high - self.low), 1)

    def shows(self, value: float) -> bool:
        scaled = math.log10(value) if self.is_log else value
        return self.low <= scaled <= self.high

    def ticks(self) -> list[tuple[float, str]]:
        """Return a few round values with their text."""
        if self.is_log:
            powers = range(math.floor(self.low), math.ceil(self.high) + 1)
            values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        else:
            raw = (self.high - self.low) / 6
            power = 10.0 ** math.floor(math.log10(raw))
            step = next(n * power for n in (1, 2, 5, 10) if n * power >= raw)
            first = math.ceil(self.low / step)
            values = [place * step for place in range(first, math.floor(self.high / step) + 1)]
        shown = [value for value in values if self.shows(value)]
        return [
            (value, f"{100 * value:.6g} %" if self.percent else f"{value:,.6g}") for value in shown
        ]


def _panel(figure: Figure) -> Iterator[str]:
    """Yield the parts of one picture: axes, lines, marks, legend."""
    drawing, shown = figure.to_json(), figure.shown
    traces = [trace for trace in drawing["data"] if trace["type"] == "scatter"]
    points = [point for t in traces for point in zip(t["x"], t["y"], strict=True)]
    points = [(x, y) for x, y in points if x is not None and y is not None]
    axes = drawing["layout"]
    settings = [
        {**axes[name], **({"range": shown[f"{name}.range"]} if f"{name}.range" in shown else {})}
        for name in ("xaxis", "yaxis")
    ]
    x_axis = _Axis(settings[0], [x for x, _ in points], _LEFT, _WIDTH - _RIGHT)
    y_axis = _Axis(settings[1], [y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    yield from _frame(x_axis, y_axis, [axis["title"]["text"] for axis in settings])
    for shape in axes.get("shapes", ()):
        if y_axis.shows(shape["y0"]):
            place = y_axis(shape["y0"])
            yield _line(_LEFT, place, _WIDTH - _RIGHT, place, shape["line"]["color"], dash="2 3")
    for trace in traces:
        pairs = [pair for pair in zip(trace["x"], trace["y"], strict=True) if None not in pair]
        known = [(x_axis(x), y_axis(y)) for x, y in pairs if x_axis.shows(x) and y_axis.shows(y)]
        if trace["mode"] == "lines":
            yield _steps(known, trace["line"])
        else:
            yield from (_mark(x, y, trace["marker"]) for x, y in known)
    yield from _legend([t for t in traces if t.get("showlegend", True)], figure.rest)


def _frame(x_axis: _Axis, y_axis: _Axis, titles: Sequence[str]) -> Iterator[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for value, text in x_axis.ticks():
        place = x_axis(value)
        yield _line(place, _TOP, place, bottom, GRID)
        yield _text(place, bottom + 16, text, text_anchor="middle")
    for value, text in y_axis.ticks():
        place = y_axis(value)
        yield _line(_LEFT, place, right, place, GRID)
        yield _text(_LEFT - 6, place + 4, text, text_anchor="end")
    yield _line(_LEFT, bottom, right, bottom, FAINT) + _line(_LEFT, _TOP, _LEFT, bottom, FAINT)
    yield _text((_LEFT + right) / 2, bottom + 38, titles[0], text_anchor="middle")
    middle = (_TOP + bottom) / 2
    yield _text(16, middle, titles[1], text_anchor="middle", transform=f"rotate(-90 16 {middle})")


def _mark(x: float, y: float, marker: Mapping[str, Any]) -> str:
    name = str(marker["symbol"])
    fill = "none" if name.endswith("-open") else marker["color"]
    edge = marker["color"] if name.endswith("-open") else PAPER
    half = marker["size"] / 2
    return (
        f'<path d="{_SHAPES[name.removesuffix("-open")]}" fill="{fill}" stroke="{edge}" '
        f'transform="translate({x},{y}) scale({half:g})" stroke-width="{1 / half:.2g}"/>'
    )


def _steps(points: Sequence[tuple[float, float]], line: Mapping[str, Any]) -> str:
    """Return the edge of what the front dominates: from point to point by way of a corner."""
    corners = "VH" if line["shape"] == "vh" else "HV"
    start = "".join(f"M{x},{y}" for x, y in points[:1])
    path = start + "".join(f"V{y}H{x}" if corners == "VH" else f"H{x}V{y}" for x, y in points[1:])
    return f'<path d="{path}" fill="none" stroke="{line["color"]}" stroke-width="1.2"/>'


def _legend(traces: Sequence[Mapping[str, Any]], rest: str) -> Iterator[str]:
    place = float(_LEFT)
    for trace in reversed(traces):
        name = str(trace["name"])
        marker = {**trace["marker"], "size": min(trace["marker"]["size"], 12)}
        yield _mark(place + 6, _TOP - 14, marker) + _text(place + 16, _TOP - 10, name)
        place += 28 + 6.6 * len(name) + 5 * name.count("m")  # no letter is as wide
    if rest:
        words = rest.removeprefix("Show ").removesuffix(" too")
        verb = "is" if words.startswith("1 ") else "are"
        text = f"{words} {verb} not in sight"
        yield _text(_WIDTH - _RIGHT, 18, text, text_anchor="end")


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, *, dash: str = "") -> str:
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{colour}"{dashes}/>'


def _text(x: float, y: float, text: str, **more: object) -> str:
    settings = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x}" y="{y}"{settings}>{escape(text)}</text>'

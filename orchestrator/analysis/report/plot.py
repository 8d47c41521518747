"""A picture of the front as SVG, for places that show no page (MLflow's artifacts)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from orchestrator.analysis.report.drawing import FONT, GRID, INK, MUTED, PAPER, Figure
from orchestrator.formats import counted

_WIDTH, _HEIGHT = 800, 500
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 20, 50, 50
_SIGNS: Final = {"square": "■", "diamond": "◆", "star": "★", "circle": "●", "circle-open": "○"}
"""Character for each of plotly's marks that the page draws."""


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
    drawing, bottom, right = figure.drawing.to_json(), _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    traces, layout = drawing["data"], drawing["layout"]
    points = [
        [pair for pair in zip(t["x"], t["y"], strict=True) if None not in pair] for t in traces
    ]
    xs, ys = ([pair[side] for some in points for pair in some] for side in (0, 1))
    x_axis = _Axis(layout["xaxis"], xs, _LEFT, right)
    y_axis = _Axis(layout["yaxis"], ys, bottom, _TOP)
    titles = [layout[name]["title"]["text"] for name in ("xaxis", "yaxis")]
    for place, text in x_axis.ticks():
        yield _line(f"M{place},{_TOP}V{bottom}", GRID)
        yield _text(place, bottom + 16, text, text_anchor="middle")
    for place, text in y_axis.ticks():
        yield _line(f"M{_LEFT},{place}H{right}", GRID)
        yield _text(_LEFT - 6, place + 4, text, text_anchor="end")
    middle = (_TOP + bottom) / 2
    yield _text((_LEFT + right) / 2, bottom + 38, titles[0], text_anchor="middle")
    yield _text(16, middle, titles[1], text_anchor="middle", transform=f"rotate(-90 16 {middle})")
    for shape in layout.get("shapes", ()):
        if (at := y_axis(shape["y0"])) is not None:
            yield _line(f"M{_LEFT},{at}H{right}", shape["line"]["color"])
    num_hidden = 0
    for trace, pairs in zip(traces, points, strict=True):
        places = [(x_axis(x), y_axis(y)) for x, y in pairs]
        seen = [(x, y) for x, y in places if x is not None and y is not None]
        if trace["mode"] != "lines":
            yield from (_mark(x, y, trace["marker"]) for x, y in seen)
            num_hidden += len(places) - len(seen)
        elif seen:  # from point to point by way of a corner
            corner = "V{1}H{0}" if trace["line"]["shape"] == "vh" else "H{0}V{1}"
            path = "".join(corner.format(*point) for point in seen[1:])
            yield _line(f"M{seen[0][0]},{seen[0][1]}{path}", trace["line"]["color"])
    if num_hidden:
        yield _text(right, 18, f"{counted(num_hidden, 'config')} out of sight", text_anchor="end")
    left = float(_LEFT)
    for trace in reversed([t for t in traces if t.get("showlegend", True)]):
        yield _mark(left + 6, _TOP - 14, {**trace["marker"], "size": 10})
        yield _text(left + 16, _TOP - 10, trace["name"])
        left += 30 + 7.5 * len(trace["name"])


def _mark(x: float, y: float, marker: Mapping[str, Any]) -> str:
    sign, size = _SIGNS[marker["symbol"]], 1.4 * marker["size"]
    look = {"font_size": f"{size:g}", "fill": marker["color"], "text_anchor": "middle"}
    return _text(x, round(y + 0.35 * size, 1), sign, **look)


def _line(path: str, colour: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}"/>'


def _text(x: float, y: float, text: str, **more: object) -> str:
    settings = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return f'<text x="{x}" y="{y}"{settings}>{escape(text)}</text>'

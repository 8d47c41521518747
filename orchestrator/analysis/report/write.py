"""The files of a report in a run directory, each written to a temporary file that is renamed."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, pass_context
from jinja2.runtime import Context

from orchestrator.analysis.columns import write_csv
from orchestrator.analysis.findings.findings import Findings, recommended_json
from orchestrator.analysis.recommendation.front import front_table, speeds_table
from orchestrator.analysis.report import drawing
from orchestrator.analysis.report.first_screen import first_screen
from orchestrator.analysis.report.sections import curves, effects, front, settings, timing, trials
from orchestrator.analysis.report.sections.scaling import scaling_of
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import as_sentence
from orchestrator.formats import counted
from orchestrator.metric_table import unit_of
from orchestrator.storage.files import RunFile, replace_file
from orchestrator.texts import markdown

MAX_ROWS: Final = 5
"""Rows of the front in ``answer.md``: those nearest to the recommended config."""
MAX_NOTES: Final = 6
_SIGNS: Final = {
    "square": "■", "diamond": "◆", "star": "★", "circle": "●",
    "square-open": "□", "diamond-open": "◇", "star-open": "☆", "circle-open": "○",
}  # fmt: skip
"""Character for each of plotly's marks that the page draws."""
_ENDS: Final = {"x": (80, 780), "y": (450, 50)}
"""Ends of the axes in a picture of 800 by 500; y counts downwards."""


def write_all(tables: RunTables, run_dir: Path) -> Findings:
    """Write the page, its picture, the answer, the front, and ``speeds.csv``.

    Returns:
        The findings of the run.

    Raises:
        OSError: The directory cannot be written.
    """
    view = View(tables=tables, run_dir=run_dir)
    content = recommended_json(view.findings)
    replace_file(run_dir / RunFile.FRONT, partial(write_csv, front_table(tables)))
    replace_file(run_dir / RunFile.SPEEDS, partial(write_csv, speeds_table(tables)))
    _write(run_dir / RunFile.RECOMMENDED, json.dumps(content, indent=2, allow_nan=False) + "\n")
    _write(run_dir / RunFile.ANSWER, answer_markdown(view))
    write_page(view, run_dir)
    return view.findings


def _write(path: Path, text: str) -> None:
    replace_file(path, lambda beside: beside.write_text(text, encoding="utf-8"))


def write_page(view: View, run_dir: Path) -> None:
    """Write ``report.html`` and ``front.svg``."""
    page, picture = page_of(view, sections_of(view))
    _write(run_dir / RunFile.REPORT, page)
    _write(run_dir / RunFile.FRONT_PLOT, picture)


def sections_of(view: View) -> list[Section]:
    """Return the sections of the page in their order.

    If no config completed, one sentence replaces the sections on knobs, steps and curves.
    """
    sections: list[Section | None] = [
        settings.choices_of(view),
        effects.effects_of(view),
        *front.front_of(view),
    ]
    if len(view.all_configs):
        sections += [
            settings.ladder_of(view),
            curves.curves_of(view),
            timing.times_of(view),
            scaling_of(view),
            timing.steps_of(view),
            timing.ceilings_of(view),
        ]
    sections += [
        *front.published_of(view),
        trials.lost_of(view),
        trials.trials_of(view),
        trials.environment_of(view),
    ]
    return [section for section in sections if section is not None]


def page_of(view: View, sections: Sequence[Section]) -> tuple[str, str]:
    """Return the page, self-contained: scripts, styles, figures; and its picture, an SVG."""
    names = [figure.name for part in sections if part.name == "speed" for figure in part.figures]
    drawn = {figure.name: figure.to_json() for part in sections for figure in part.figures}
    picture = front_picture([drawn[n] for n in names], f"{view.sweep.name} on {view.sweep.data}")
    script = json.dumps({"figures": drawn, "dark": drawing.DARK}, separators=(",", ":"))
    page = template("report.html.j2").render(
        sweep=view.sweep,
        states=": ".join(
            filter(None, [counted(len(view.trials), "trial"), trials.states_text(view.trials)])
        ),
        first=first_screen(view),
        sections=sections,
        picture=picture,
        figures_json=script.replace("<", "\\u003c"),  # nothing in it ends the script element
        plotly=plotly_js(),
    )
    return page, picture


def plotly_js() -> str:
    """Return plotly.js with the cartesian traces, in the version for which plotly draws."""
    return (Path(__file__).parent / "vendored" / "plotly-cartesian.min.js").read_text("utf-8")


def answer_markdown(view: View) -> str:
    """Return the answer's sentence, the front around the recommended config, and the notes.

    Of the page's table of the front it has the recommended config, the baseline, the nearest ones.
    """
    found, rows, speed = view.findings, view.shown, view.rule.speed_column
    on_front = rows.loc[rows["on_front"], speed]
    own = rows.loc[rows["is_recommended"], speed].head(1).sum()
    near = (on_front - own).abs().nsmallest(MAX_ROWS).index
    marked = rows["is_recommended"] | rows["is_baseline"]
    table = front.front_table(view, rows[rows.index.isin(near) | marked])
    text = template("answer.md.j2").render(
        found=found,
        sweep=view.sweep,
        table=table,
        width=len(table.head) - table.num_rest,
        num_front=len(on_front),
        num_near=len(near),
        notes=list(dict.fromkeys(filter(None, (found.why_not_known, *found.notes)))),
        most=MAX_NOTES,
    )
    return markdown(text.strip() + "\n")


# -- templates, and what the picture's draws


@cache
def template(name: str) -> Template:
    """Return one of the templates, with its filters."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"sentence": _sentence, "unit": unit_of}
    return environment.get_template(name)


@pass_context
def _sentence(context: Context, text: str) -> str:
    return as_sentence(text, context["sweep"].knobs)


def front_picture(drawn: Sequence[Mapping[str, Any]], title: str) -> str:
    """Return the page's pictures of the front, one below the other, as one SVG.

    Args:
        drawn: Of :func:`~orchestrator.analysis.report.sections.scatter.scatter_figures`.
        title: Words above them.
    """
    return template("front.svg.j2").render(
        panels=list(map(_panel, drawn)), title=title, style=drawing, signs=_SIGNS, edge=_edge
    )


class _Axis:
    """An axis of a figure, from its values to places in the picture."""

    def __init__(self, figure: Mapping[str, Any], letter: str) -> None:
        layout = figure["layout"][f"{letter}axis"]
        self.is_log, self.percent = layout.get("type") == "log", "tickformat" in layout
        values = [value for trace in figure["data"] for value in trace[letter] if value is not None]
        ends = layout.get("range") or self._scaled([min(values, default=1), max(values, default=1)])
        room = 0.05 * (ends[1] - ends[0]) or 0.05 * abs(ends[1]) or 1.0
        self.low, self.high, self._ends = ends[0] - room, ends[1] + room, _ENDS[letter]

    def _scaled(self, values: Sequence[float]) -> list[float]:
        return [math.log10(value) for value in values] if self.is_log else list(values)

    def __call__(self, value: float | None) -> float | None:
        """Return the place of a value; None if it is not in sight."""
        if value is None:
            return None
        share = (self._scaled([value])[0] - self.low) / (self.high - self.low)
        start, end = self._ends
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


def _panel(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return the places of one picture's ticks, limits and marks."""
    x_axis, y_axis = _Axis(drawn, "x"), _Axis(drawn, "y")
    traces, num_hidden = [], 0
    for trace in drawn["data"]:
        places = list(zip(map(x_axis, trace["x"]), map(y_axis, trace["y"]), strict=True))
        seen = [place for place in places if None not in place]
        num_hidden += (len(places) - len(seen)) * (trace["mode"] != "lines")
        traces.append((trace, seen))
    limits = [(y_axis(s["y0"]), s["line"]["color"]) for s in drawn["layout"].get("shapes", ())]
    return {
        "layout": drawn["layout"],
        "x_ticks": list(x_axis.ticks()),
        "y_ticks": list(y_axis.ticks()),
        "limits": [limit for limit in limits if limit[0] is not None],
        "traces": traces,
        "hidden": counted(num_hidden, "config") if num_hidden else "",
        "legend_width": sum(26 + 6.2 * len(t["name"]) for t, _ in traces if t["mode"] != "lines"),
    }


def _edge(places: Sequence[tuple[float, float]], shape: str) -> str:
    """Return the path from point to point by way of a corner."""
    corner = "V{1}H{0}" if shape == "vh" else "H{0}V{1}"
    start, *rest = places
    return f"M{start[0]},{start[1]}" + "".join(corner.format(*place) for place in rest)

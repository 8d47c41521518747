"""Text beside a config that is pointed at."""

from __future__ import annotations

import re

from orchestrator.analysis.report.sections.hover import hover, telling
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def texts_of(view: View) -> list[str]:
    words, template = hover(view, view.shown)
    return [filled(template, row.tolist()) for row in words]


def filled(template: str, words: list[str]) -> str:
    return re.sub(r"%\{customdata\[(\d+)\]\}", lambda found: words[int(found[1])], template)


def test_the_words_fill_the_template(view: View) -> None:
    (text,) = (text for text in texts_of(view) if "confirm runs: 3" in text and "=3</b>" in text)
    lines = text.removesuffix("<extra></extra>").split("<br>")
    assert lines[:3] == ["<b>lr=0.01</b>", "<b>batch_size=4000</b>", "<b>num_workers=3</b>"]
    assert "samples_per_s: 23,916 samples/s" in lines
    assert "bound by: compute" in lines
    assert any(line.startswith("unresolved against the best: 99.9 %") for line in lines)


def test_knobs_that_never_change_are_not_named(view: View) -> None:
    assert telling(view) == ["lr", "batch_size", "num_workers"]


def test_what_users_wrote_cannot_change_the_page() -> None:
    run = MadeRun()
    run.add(config(allocator="<b>x</b>"))
    (text,) = texts_of(view_of_run(run))
    assert "allocator=&lt;b&gt;x&lt;/b&gt;" in text


def test_truth_values_are_written_as_commands_take_them() -> None:
    run = MadeRun()
    for value in (True, False):
        run.add(config(persistent_workers=value))
    first, second = texts_of(view_of_run(run))
    assert "persistent_workers=true" in first
    assert "persistent_workers=false" in second

"""Two knobs together, on the page."""

from __future__ import annotations

from orchestrator.analysis.report.sections.knobs.interactions import interactions_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def of_four(*speeds: float) -> MadeRun:
    """A block of two knobs, each config run three times; the last is left out where one lacks."""
    run = MadeRun()
    corners: tuple[dict[str, int], ...] = (
        {},
        {"num_workers": 3},
        {"threads": 1},
        {"num_workers": 3, "threads": 1},
    )
    for changes, speed in zip(corners, speeds, strict=False):
        run.add_runs(config(**changes), [speed, speed * 1.001, speed * 0.999])
    return run


def test_what_two_knobs_bring_beyond_each_alone_is_shown() -> None:
    section = interactions_of(view_of_run(of_four(1000.0, 1500.0, 1200.0, 2160.0)))
    assert section is not None
    assert section.table is not None
    ((one, other, metric, effect, *_, verdict),) = section.table.rows
    assert {one.text, other.text} == {"num_workers 0 → 3", "threads 0 → 1"}
    assert (metric.text, effect.text) == ("samples_per_s", "1.20x")
    assert verdict.text == "▲ better than the two put together"


def test_where_neither_changes_the_other_a_sentence_says_so() -> None:
    section = interactions_of(view_of_run(of_four(1000.0, 1500.0, 1200.0, 1800.0)))
    assert section is not None
    assert section.table is None
    assert section.missing == (
        "for 1 combination it is shown that neither changes what the other does"
    )


def test_what_was_not_tried_together_comes_with_what_would_tell() -> None:
    section = interactions_of(view_of_run(of_four(1000.0, 1500.0, 1200.0)))
    assert section is not None
    assert section.missing == "no two knobs were changed together in a complete block"
    ((title, (line,)),) = section.folded
    assert title == "not tried together: 1 pair of knobs"
    assert "--set num_workers=3 --set threads=1 would tell" in line


def test_the_largest_come_first_and_small_ones_are_counted(view: View) -> None:
    section = interactions_of(view)
    assert section is not None
    assert section.table is not None
    first = section.table.rows[0]
    assert (first[0].text, first[3].text) == ("lr 0.003 → 0.01", "+1.80 points")
    assert section.lines == (
        "what lr does to val_acc depends on batch_size; what batch_size does to samples_per_s "
        "depends on num_workers",
    )


def test_with_a_single_knob_there_is_no_section() -> None:
    run = MadeRun()
    run.add(config())
    run.add(config(num_workers=3))
    assert interactions_of(view_of_run(run)) is None

"""Savings and costs of more ranks, GPUs or samples a step, on the page."""

import pytest

from orchestrator.analysis.report.sections.scaling import scaling_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import run_by_workers
from tests.orchestrator.analysis.made_scaling import by_ranks
from tests.orchestrator.analysis.report.pages import column_of, html_of, text_of, view_of_run

TIMES = {1: [100.0] * 2, 2: [55.0] * 2, 4: [40.0] * 2, 8: [38.0] * 2}


@pytest.fixture(scope="module")
def scaled() -> View:
    run = by_ranks(TIMES)
    run.sweep["target"] = {"metric": "val_acc", "goal": "maximize", "bound": 0.9}
    return view_of_run(run)


def test_the_section_names_the_ranks_from_which_on_no_step_pays(scaled: View) -> None:
    section = scaling_of(scaled)
    assert section is not None
    assert section.lines == (
        "from ranks=2 on, each step costs more than it saves: ranks=8 is 1.45x as fast for 2.76x "
        "the device-seconds",
    )
    assert [cell.text for cell in column_of(section.table, "ranks")] == ["1", "2", "4", "8"]
    assert column_of(section.table, "device_s")[3].number == pytest.approx(304.0)
    assert [c.text for c in column_of(section.table, "the step pays")] == ["", "yes", "no", "no"]
    assert section.table.head[:2] == ("ranks", "batch_size")  # what differs as well
    assert "ranks=8 is 1.45x as fast" in text_of(html_of(scaled))


def test_its_figure_has_the_times_with_their_intervals(scaled: View) -> None:
    (times,) = scaling_of(scaled).figures[0].figure.data
    assert list(times.y) == pytest.approx([100.0, 55.0, 40.0, 38.0])
    assert min(times.error_y.array) > 0


def test_without_a_knob_by_which_a_training_grows_there_is_no_section() -> None:
    assert scaling_of(view_of_run(run_by_workers((0, 100.0), (1, 200.0)))) is None

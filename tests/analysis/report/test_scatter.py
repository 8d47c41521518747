"""Speed against accuracy."""

from __future__ import annotations

import pytest

from analysis.report.scatter import scatter
from tests.analysis.made_runs import config, products_run
from tests.analysis.report.pages import view_of_run


@pytest.mark.parametrize("times", [4.0, 400.0])
def test_a_config_out_of_sight_does_not_stretch_the_axis_of_speed(times: float) -> None:
    run = products_run()
    speed, accuracy = "metrics.samples_per_s", "metrics.val_acc"
    fastest = max(row[speed] for row in run.rows if row["state"] == "completed")
    for row in run.rows:
        if row["stage"] == "confirm":
            row.update({name: 2 * row[name] for name in row if name.startswith(speed)})
    ends = {f"{speed}_{scope}{end}": times * fastest for scope in ("", "within_") for end in
            ("low", "high")}  # fmt: skip
    run.add(config(lr=1.0), **{speed: times * fastest, accuracy: 0.1}, **ends)
    view = view_of_run(run)

    figure = scatter(view, view.beside_speed[0])

    low, high = figure.layout.xaxis.range
    if figure.layout.xaxis.type == "log":
        low, high = 10**low, 10**high
    shown = view.configs[view.configs[accuracy] > figure.layout.yaxis.range[0]][speed]
    assert len(shown) > 10
    assert low < shown.min() < shown.max() < high < 3 * fastest
    confirmed = view.confirmed[view.confirmed["is_recommended"]][speed]
    assert 1.5 * fastest < confirmed.item() < high, "runs that confirm are in sight as well"

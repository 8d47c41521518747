from __future__ import annotations

import orchestrator.analysis as an
from tests.orchestrator.analysis.made_runs import MadeRun, config


def test_every_column_of_every_frame_has_a_meaning(
    run: an.RunTables, factored: an.RunTables
) -> None:
    frames = (run.trials, an.configs(run), an.configs(factored), run.curves, run.steps)
    for frame in frames:
        told = an.describe(frame, run=run)
        assert told.loc[told["meaning"] == "", "column"].tolist() == []


def test_a_trainables_own_figure_is_said_to_be_its_own() -> None:
    made = MadeRun()
    made.add(config(), **{"metrics.kteps": 3.0, "metrics.goodput_low": 1.0})
    told = an.describe(made.tables).set_index("column")
    assert told.loc["metrics.kteps", "meaning"] == "reported by the trainable"
    assert told.loc["metrics.goodput_low", "meaning"] == "95 % interval of goodput, low end"

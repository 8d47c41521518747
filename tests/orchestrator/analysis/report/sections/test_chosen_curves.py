"""The learning curves that are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from orchestrator.analysis.report.sections.chosen_curves import KINDS, MAX_OTHERS, drawn_curves
from orchestrator.analysis.report.sections.curves import curves_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run
from tests.orchestrator.analysis.report.pages import view_of_run


def test_of_many_trials_some_are_drawn_and_the_section_says_so() -> None:
    run = MadeRun()
    for number in range(60):
        run.add(config(lr=1e-5 * (number + 1)))
    run.add(config())
    view = view_of_run(run)
    section = curves_of(view)
    curves = drawn_curves(view)
    assert curves is not None
    others = curves.reports[curves.reports["kind"] == "other trials"]
    assert others["trial_id"].nunique() == MAX_OTHERS
    number = curves.num_trials["other trials"]
    assert section.lines[0].startswith(f"of the {number} other trials {MAX_OTHERS} are drawn")
    finals = view.trials.set_index("trial_id")["metrics.val_acc"]
    assert finals[others["trial_id"].unique()].min() == finals.min(), "the ends are among them"


def test_each_trial_has_one_kind(view: View) -> None:
    curves = drawn_curves(view)
    assert curves is not None
    kinds = curves.reports.drop_duplicates("trial_id").set_index("trial_id")["kind"]
    assert set(kinds) == set(KINDS)
    rows = view.configs.set_index("label")
    for kind, mark in (("recommended", "is_recommended"), ("baseline", "is_baseline")):
        (ids,) = rows.loc[rows[mark], "trial_ids"]
        assert set(kinds.index[kinds == kind]) == set(ids)
    assert curves.num_trials == {kind: int((kinds == kind).sum()) for kind in KINDS}


def test_a_composed_config_is_drawn_by_the_curves_that_its_accuracy_is_from() -> None:
    view = view_of_run(factored_run())
    curves = drawn_curves(view)
    assert curves is not None
    (ids,) = view.configs.loc[view.configs["is_baseline"], "curve_ids"]
    drawn = curves.reports.loc[curves.reports["kind"] == "baseline", "trial_id"]
    assert set(drawn) == set(ids)


def test_a_report_without_the_figure_is_no_point(view: View) -> None:
    some = view.curves["metrics.val_acc"].where(view.curves["epoch"] > 1, np.nan)
    curves = drawn_curves(replace(view, curves=view.curves.assign(**{"metrics.val_acc": some})))
    assert curves is not None
    assert curves.reports.groupby("trial_id").size().unique().tolist() == [2]
    only_last = some.where(view.curves["epoch"] > 2, np.nan)
    none = replace(view, curves=view.curves.assign(**{"metrics.val_acc": only_last}))
    assert drawn_curves(none) is None

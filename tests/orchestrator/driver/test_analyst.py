"""The judge that searches ask: it answers as the report does on the same trials."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.recommendation.choice import choose, finalists, is_decided
from orchestrator.analysis.recommendation.selection import select, to_repeat
from orchestrator.analysis.tables.load import write_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.derived import DerivedFigures
from orchestrator.driver.analyst import Analyst, best_so_far
from orchestrator.metrics import maximize, minimize
from orchestrator.search.stages.judge import Config, Results
from orchestrator.space.knob import Role
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import SweepHistory, read_history
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.storage.tables import candidates_table, roles_of, trials_of
from orchestrator.sweep.rigor import Rigor
from orchestrator.tracking.console.words import differing
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState, trial_id
from tests.orchestrator.tracking.journals import Scribe, config, events_of, make_record, make_trial

RECORD = make_record(rigor=Rigor(repeats=2, max_confirm=12))
MAX_RUNS = 4


def run_of(
    number: int, speed: float, stage: Stage = Stage.TRAIN, repeat: int = 0, **of_result: object
) -> tuple[Trial, TrialResult]:
    """Return a trial of a config with a result, its speed known to 0.2 %."""
    content = {"stage": stage, "repeat": repeat, **config(number), "isolation": str(of_result)}
    trial = Trial(
        id=trial_id(content), stage=stage, config=config(number), budget=Budget(epochs=3),
        seed=repeat, repeat=repeat,
    )  # fmt: skip
    metrics = {
        "samples_per_s": speed,
        "samples_per_s_within_low": speed * 0.998,
        "samples_per_s_within_high": speed * 1.002,
        "val_acc": 0.9,
        "peak_pss_gib": 1.0,
    }
    fields = {"metrics": metrics, "wall_s": 1.0, "cores": 2, "isolation": "leased"} | of_result
    return trial, TrialResult(state=TrialState.COMPLETED, **fields)  # type: ignore[arg-type]


def runs_of(
    speeds: Mapping[int, Sequence[float]], stage: Stage = Stage.TRAIN
) -> list[tuple[Trial, TrialResult]]:
    """Return the runs of configs by number (0, 3, 6 and 8 workers), a speed each."""
    return [
        run_of(number, speed, stage, repeat)
        for number, of_config in speeds.items()
        for repeat, speed in enumerate(of_config)
    ]


def checked() -> list[tuple[Trial, TrialResult]]:
    """Return three rounds of two configs isolated and co-located, 10 % slower the second way."""
    return [
        run_of(number, speed * (0.9 if way == "leased" else 1) * (1 + 0.001 * repeat),
               Stage.PROBE, repeat, isolation=way)
        for repeat in (1, 2, 3)
        for way in ("exclusive", "leased")
        for number, speed in ((0, 400.0), (1, 800.0))
    ]  # fmt: skip


FAILED = TrialResult(state=TrialState.FAILED, reason="killed")
CLEAR = runs_of({0: [400.0, 401.0], 1: [800.0, 802.0], 2: [600.0, 601.0]})
NEAR_TIES = runs_of({0: [400.0, 404.0], 1: [950.0, 970.0], 2: [990.0, 1010.0], 3: [941.0, 960.0]})
RUNS: dict[str, Results] = {
    "none": [],
    "failed alone": [(run_of(1, 1.0)[0], FAILED)],
    "a clear best": CLEAR,
    "near-ties": NEAR_TIES,
    "confirmed": CLEAR
    + runs_of({0: [400.0, 401.0, 399.0], 1: [800.0, 801.0, 802.0]}, Stage.CONFIRM),
    "confirmed, open": NEAR_TIES
    + runs_of({0: [900.0, 1100.0, 1000.0], 2: [1150.0, 980.0, 1010.0]}, Stage.CONFIRM),
    "rejected": CLEAR
    + runs_of({0: [400.0, 401.0, 399.0], 1: [300.0, 301.0, 302.0]}, Stage.CONFIRM),
    "interference": CLEAR + checked(),
}


def tables_of(
    run_dir: Path,
    results: Results,
    record: SweepRecord = RECORD,
    reports: Mapping[str, Report] | None = None,
) -> RunTables:
    """Return the tables of a run with these trials, as the analysis reads them from disk."""
    scribe = Scribe(run_dir)
    (run_dir / RunFile.SWEEP).write_text(json.dumps(record.to_json()))
    scribe.record("sweep", sweep=record.to_json())
    for trial, result in results:
        scribe.asked(trial)
        if reports and trial.id in reports:
            scribe.record("report", trial_id=trial.id, report=reports[trial.id])
        scribe.record("finished", trial_id=trial.id, result=result)
    return write_run(run_dir)


def of_the_analyst(results: Results, record: SweepRecord = RECORD) -> dict[str, object]:
    """Return the answers to all questions of a search."""
    analyst = Analyst(record)
    recommended, effect = analyst.recommended(results), analyst.interference(results)
    return {
        "finalists": list(map(dict, analyst.finalists(results, most=2))),
        "to_repeat": list(map(dict, analyst.to_repeat(results, max_runs=MAX_RUNS))),
        "is_decided": analyst.is_decided(results),
        "recommended": None if recommended is None else dict(recommended),
        "interference": effect,
    }


def of_the_analysis(tables: RunTables) -> dict[str, object]:
    selection, choice, effect = select(tables), choose(tables), tables.interference
    return {
        "finalists": list(map(dict, finalists(selection, most=tables.sweep.rigor.finalists))),
        "to_repeat": list(map(dict, to_repeat(tables, max_runs=MAX_RUNS))),
        "is_decided": selection.config is None or is_decided(tables, selection.config),
        "recommended": None if choice is None else dict(choice.config),
        "interference": effect.text if effect is not None and effect.is_shown else "",
    }


@pytest.mark.parametrize("name", RUNS)
def test_its_answers_are_those_of_the_report(name: str, tmp_path: Path) -> None:
    assert of_the_analyst(RUNS[name]) == of_the_analysis(tables_of(tmp_path / "run", RUNS[name]))


def test_confirm_runs_change_no_selection() -> None:
    """The selection is made once, and answers the questions between the rounds."""
    analyst, confirmed = Analyst(RECORD), list(RUNS["confirmed, open"])
    num = len(NEAR_TIES)
    before = analyst._searched(confirmed[:num])
    for end in range(num, len(confirmed) + 1):
        so_far = confirmed[:end]
        assert analyst._searched(so_far) is before
        assert analyst.is_decided(so_far) == of_the_analyst(so_far)["is_decided"]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([300.0, 400.0, 800.0])),
        max_size=12,
    ),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
)
@settings(max_examples=20, deadline=None)
def test_tables_that_grow_are_those_made_at_once(
    drawn: list[tuple[int, int, float]], steps: list[int]
) -> None:
    """The same run may end twice, for example not run at first, and then resumed."""
    results = [run_of(number, speed, repeat=repeat) for number, repeat, speed in drawn]
    growing, end = Analyst(RECORD), 0
    for step in steps:
        end += step
        so_far = results[:end]
        kept, fresh = growing._searched(so_far), Analyst(RECORD)._searched(so_far)
        pd.testing.assert_frame_equal(kept.tables.trials, fresh.tables.trials)
        assert growing._searched(list(so_far)) is kept


def workers(configs: Sequence[Config]) -> list[int]:
    return [one["num_workers"] for one in configs]


def test_a_config_is_handed_back_as_the_search_asked_for_it() -> None:
    """A table contains a tuple as text: a config made of its cells would be another trial's."""
    asked = [trial.config for trial, _ in NEAR_TIES]
    analyst = Analyst(RECORD)
    recommended = analyst.recommended(NEAR_TIES)
    answers = [
        *analyst.finalists(NEAR_TIES, most=2),
        *analyst.to_repeat(NEAR_TIES, max_runs=MAX_RUNS),
        recommended,
    ]
    assert len(answers) == 5
    assert all(any(answer is config for config in asked) for answer in answers)


def test_a_config_is_handed_back_as_asked_for_where_training_found_a_value() -> None:
    results = [
        (
            replace(trial, config={**trial.config, "amp": "not known"}),
            replace(result, tags={"params.amp": "off"}),
        )
        for trial, result in NEAR_TIES
    ]
    answers = Analyst(RECORD).to_repeat(results, max_runs=MAX_RUNS)
    assert answers
    assert all(any(answer is trial.config for trial, _ in results) for answer in answers)


class FoundRoles:
    """A search that has found roles."""

    def __init__(self, **found: Role) -> None:
        self._found = found

    @property
    def roles(self) -> Mapping[str, Role]:
        declared = {name: knob.role for name, knob in RECORD.knobs.items()}
        return {**declared, **self._found}


def factored() -> tuple[Results, pd.DataFrame]:
    """Probes of four settings at one rate, curves of two rates with one of them; 8 candidates."""
    configs = [{**config(number), "lr": lr} for lr in (0.1, 0.2) for number in range(4)]
    roles = {name: knob.role for name, knob in RECORD.knobs.items()}
    values = [tuple(c[name] for name in RECORD.knobs) for c in configs]
    table = candidates_table(tuple(RECORD.knobs), values, RECORD.knobs, roles)
    results = [
        with_rate(run_of(number, speed * (1 + 0.001 * repeat), Stage.PROBE, repeat), 0.1, None)
        for number, speed in enumerate((400.0, 800.0, 1000.0, 600.0))
        for repeat in (0, 1)
    ]
    for rate, accuracy in ((0.1, 0.80), (0.2, 0.90)):
        results.append(with_rate(run_of(1, 500.0), rate, accuracy))
    return results, table


def with_rate(
    run: tuple[Trial, TrialResult], lr: float, accuracy: float | None
) -> tuple[Trial, TrialResult]:
    """Return the run at another learning rate: without accuracy, or with this one."""
    trial, result = run
    metrics = {name: value for name, value in result.metrics.items() if name != "val_acc"}
    if accuracy is not None:
        metrics |= {"val_acc": accuracy, "epochs": 3.0, "train_s": 6.0, "epoch_s": 2.0}
    changed = replace(trial, id=f"{trial.id}{lr}", config={**trial.config, "lr": lr})
    return changed, replace(result, metrics=metrics, isolation="exclusive")


def test_finalists_of_a_factored_search_are_composed() -> None:
    results, table = factored()
    chosen = Analyst(RECORD, table).finalists(results, most=2)
    # The fastest setting with the better rate: it was probed at the other rate, and not trained.
    assert workers(chosen)[0] == 6
    assert chosen[0]["lr"] == 0.2
    assert all(dict(trial.config) != dict(chosen[0]) for trial, _ in results)
    assert len({tuple(c.items()) for c in chosen}) == len(chosen)
    without = Analyst(RECORD).finalists(results, most=2)
    assert workers(without) == [3]


def test_composed_times_are_of_the_samples_that_were_reported(tmp_path: Path) -> None:
    record = replace(RECORD, objectives=(minimize("train_s"), maximize("val_acc")))
    results, table = factored()
    curves = [(0.1, 2.0, 900), (0.2, 1.8, 1000)]  # by its rate the second one has fewer samples
    results, reports = list(results[:-2]), {}
    for lr, epoch_s, samples in curves:
        trial, result = with_rate(run_of(1, 500.0), lr, 0.9)
        metrics = {**result.metrics, "train_s": 3 * epoch_s, "epoch_s": epoch_s}
        results.append((trial, replace(result, metrics=metrics)))
        reports[trial.id] = Report(
            step=30, epoch=3, samples=3 * samples, elapsed_s=9.0, metrics={"val_acc": 0.9}
        )

    derived = DerivedFigures()
    for trial, _ in results:
        if trial.id in reports:
            derived.reported(trial, reports[trial.id])
    analyst = Analyst(record, table, derived)
    analyst.write_candidates(tmp_path)
    choice = choose(tables_of(tmp_path, results, record, reports))
    chosen = analyst.recommended(results)
    assert (choice.config["lr"], chosen["lr"]) == (0.1, 0.1)
    assert dict(chosen) == dict(choice.config)


def test_a_role_that_the_search_has_found_is_composed_by(tmp_path: Path) -> None:
    results, table = factored()
    analyst = Analyst(RECORD, table)
    analyst.follow(FoundRoles(num_workers=Role.BOTH))
    # The learning of 6 workers is not known any more, as only 3 were trained.
    assert workers(analyst.finalists(results, most=2)) == [3]
    analyst.write_candidates(tmp_path)
    written = pd.read_parquet(tmp_path / RunFile.CANDIDATES)
    assert roles_of(written)["num_workers"] is Role.BOTH
    assert len(written) == 8


# -- the best so far

FAST, SLOW = {"samples_per_s": 9e4, "val_acc": 0.9}, {"samples_per_s": 1e4, "val_acc": 0.9}


def history_of(run_dir: Path, *results: dict[str, Any], **sweep: object) -> SweepHistory:
    """Return the history after trials 0, 1, ... (trial 0 is the baseline's) with these results."""
    scribe = Scribe(run_dir).sweep(**sweep)
    for number, changes in enumerate(results):
        trial = scribe.asked(make_trial(number))
        scribe.started(trial)
        scribe.finished(trial, **changes)
    return read_history(events_of(run_dir))


def test_the_best_so_far_is_what_the_report_recommends(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path).sweep()
    for number in range(8):
        scribe.whole(make_trial(number))
    for number in (0, 3):
        for repeat in (0, 1):
            scribe.whole(make_trial(number, stage=Stage.CONFIRM, repeat=repeat))
    history = read_history(events_of(tmp_path))
    tables = RunTables(trials=trials_of(history), sweep=history.sweep)
    config = findings(tables).config
    assert config is not None
    knobs = "  ".join(differing(config, history.sweep))
    assert best_so_far(history).startswith(f"best so far: {knobs}  ")


def test_it_has_its_figures_and_is_compared_with_the_baseline(tmp_path: Path) -> None:
    slow, fast = {"samples_per_s": 1e4, "val_acc": 0.9}, {"samples_per_s": 9e4, "val_acc": 0.9}
    history = history_of(tmp_path, {"metrics": slow}, {"metrics": fast})
    assert best_so_far(history) == (
        "best so far: num_workers=3  90,000 samples/s  val_acc 90.00 %  "
        "9.00x the baseline (unconfirmed)"
    )


def test_before_anything_has_run_nothing_leads(tmp_path: Path) -> None:
    assert best_so_far(history_of(tmp_path)) == ""

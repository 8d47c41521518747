import math
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.tables.load import write_tables
from orchestrator.kernel.journal import Journal, read_journal
from orchestrator.metric_table import MEASURED
from orchestrator.space.knob import Role
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import read_history
from orchestrator.storage.sweep_record import KnobRecord
from orchestrator.storage.tables import (
    candidates_table,
    curves_of,
    roles_of,
    steps_table,
    trial_dtypes,
    trials_of,
    typed,
    with_roles,
    write_candidates,
)
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.conftest import FinishedRun
from tests.orchestrator.helpers.journalled import append
from tests.orchestrator.measurement.fakes import blocks_from
from tests.orchestrator.tracking.journals import Scribe, figures, make_trial

FIXED = (
    "trial_id stage state reason seed repeat data node device cores isolation started_at wall_s "
    "curve"
)
TAGS = [
    "tags.bound", "tags.contaminated", "tags.oversubscribed", "tags.interval", "tags.interval_over",
]  # fmt: skip
METRICS = (
    "samples_per_s samples_per_s_low samples_per_s_high val_acc test_acc train_loss epochs steps "
    "train_s epoch_s epoch_start_s eval_s step_ms wait_ms transfer_ms forward_ms backward_ms "
    "optimizer_ms peak_rss_gib cpu_util system_time_share faults_per_step peak_gpu_gib gpu_util "
    "copy_ms host_ms first_epoch_s loader_only_samples_per_s compute_only_samples_per_s headroom "
    "peak_pss_gib worker_growth_mib_per_epoch "
    "busy_cores foreign_share steal_share run_queue_share others_cores "
    "major_faults "
    "gpu_memory_gib gpu_power_w gpu_clock_mhz gpu_slowed_share gpu_energy_j "
    "samples_per_s_within_low samples_per_s_within_high earlier_epochs"
)


def tables(scribe: Scribe) -> tuple[pd.DataFrame, pd.DataFrame]:
    history = read_history(read_journal(scribe.run_dir / RunFile.JOURNAL))
    return trials_of(history), curves_of(history)


def test_columns_are_the_documented_ones_in_order(scribe: Scribe) -> None:
    scribe.whole(make_trial(0))
    trials, curves = tables(scribe)
    assert list(trials.columns) == [
        *FIXED.split(),
        *(f"params.{name}" for name in ("lr", "num_workers", "pin_memory", "fanouts", "amp")),
        *(f"metrics.{name}" for name in METRICS.split()),
        *TAGS,
    ]
    head = ["trial_id", "step", "epoch", "samples", "elapsed_s"]
    assert list(curves.columns) == [*head, *(f"metrics.{name}" for name in METRICS.split())]


def test_cells_contain_the_journal_s_values(scribe: Scribe) -> None:
    trial = scribe.whole(make_trial(1))
    trials, curves = tables(scribe)
    row = trials.iloc[0]
    assert row["trial_id"] == trial.id
    assert (row["stage"], row["state"], row["data"]) == ("train", "completed", "products-synthetic")
    assert row["started_at"] == pd.Timestamp(1_800_000_000_125, unit="ms", tz="UTC")
    assert row["params.fanouts"] == "10,25"
    assert row["params.num_workers"] == 3
    assert row["metrics.peak_rss_gib"] == 1.25
    assert row["metrics.step_ms"] == figures(trial, 3)["step_ms"]
    assert curves["step"].tolist() == [100, 200, 300]
    assert curves["metrics.step_ms"].tolist() == [figures(trial, e)["step_ms"] for e in (1, 2, 3)]


def test_what_was_not_measured_is_empty_and_never_zero(scribe: Scribe) -> None:
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(1), TrialState.INFEASIBLE)
    trials, _ = tables(scribe)
    assert trials["metrics.gpu_util"].isna().all()
    infeasible = trials.iloc[1]
    empty = [name for name in trials.columns if name.startswith(("metrics.", "tags."))]
    for name in [*empty, "node", "device", "cores", "isolation", "started_at", "wall_s"]:
        assert pd.isna(infeasible[name]), name
    assert infeasible["reason"].startswith("RuntimeError: no luck")


def test_types_do_not_depend_on_the_content(scribe: Scribe, tmp_path: Path) -> None:
    empty, no_curves = tables(scribe)
    scribe.whole(make_trial(0), TrialState.NOT_RUN)
    sparse, _ = tables(scribe)
    scribe.whole(make_trial(1))
    full, curves = tables(scribe)
    assert len(empty) == 0
    assert empty.dtypes.equals(full.dtypes)
    assert sparse.dtypes.equals(full.dtypes)
    assert no_curves.dtypes.equals(curves.dtypes)
    kinds = {"lr": "float64", "num_workers": "Int64", "pin_memory": "boolean", "amp": "str"}
    assert {name: str(full[f"params.{name}"].dtype) for name in kinds} == kinds
    assert str(full["started_at"].dtype) == "datetime64[ms, UTC]"
    assert {str(full[f"metrics.{m.name}"].dtype) for m in MEASURED} == {"float64"}


def test_a_trial_without_a_fate_has_neither_row_nor_curve_until_it_is_resumed(
    scribe: Scribe,
) -> None:
    scribe.whole(make_trial(0))
    cut_short = scribe.asked(make_trial(1))
    scribe.started(cut_short)
    scribe.reported(cut_short, 1)
    trials, curves = tables(scribe)
    assert cut_short.id not in set(trials["trial_id"]) | set(curves["trial_id"])
    scribe.ended(130)
    scribe.resumed()
    scribe.started(cut_short)
    scribe.reported(cut_short, 1)
    scribe.finished(cut_short)
    after, _ = tables(scribe)
    pd.testing.assert_frame_equal(after.iloc[:1], trials)
    assert after["trial_id"].tolist()[1] == cut_short.id


def test_a_trial_that_was_not_run_keeps_its_row_until_it_was_run(scribe: Scribe) -> None:
    trial = scribe.whole(make_trial(0), TrialState.NOT_RUN)
    scribe.resumed()
    scribe.started(trial)
    scribe.reported(trial, 1)
    (row,) = tables(scribe)[0].to_dict("records")
    assert row["state"] == "not_run"
    assert math.isnan(row["metrics.samples_per_s"]), "what has not ended has no figures"
    scribe.finished(trial)
    assert tables(scribe)[0]["state"].tolist() == ["completed"]


def test_other_metrics_and_tags_come_last_in_order(scribe: Scribe) -> None:
    trial = scribe.asked(make_trial(0, stage=Stage.CONFIRM, repeat=2))
    scribe.started(trial)
    result = {"state": "completed", "metrics": {"zeta": 1, "auc": 0.5}, "tags": {"why": "x"}}
    scribe.record("finished", trial_id=trial.id, result=result)
    trials, _ = tables(scribe)
    assert list(trials.columns)[-8:] == ["metrics.auc", "metrics.zeta", *TAGS, "tags.why"]
    assert trials["metrics.zeta"].tolist() == [1.0]
    assert trials[["stage", "repeat"]].iloc[0].tolist() == ["confirm", 2]


def test_written_tables_read_back_the_same(scribe: Scribe) -> None:
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(1), TrialState.FAILED)
    tables = write_tables(scribe.run_dir)
    trials, curves = tables["trials"], tables["curves"]
    pd.testing.assert_frame_equal(pd.read_parquet(scribe.run_dir / "trials.parquet"), trials)
    pd.testing.assert_frame_equal(pd.read_parquet(scribe.run_dir / "curves.parquet"), curves)
    text = pd.read_csv(scribe.run_dir / "trials.csv", dtype=str)
    assert list(text.columns) == list(trials.columns)
    assert text["params.fanouts"].tolist() == ["10,25", "10,25"]
    assert text["metrics.gpu_util"].isna().all()
    names = {path.name for path in scribe.run_dir.iterdir()}
    tables = {f"{name}.parquet" for name in ("trials", "curves", "steps")}
    assert names == {RunFile.JOURNAL, "trials.csv", *tables}


def test_options_of_one_type_keep_it_and_mixed_ones_are_text() -> None:
    def knob(allowed: str) -> KnobRecord:
        return KnobRecord(role=Role.SYSTEMS, allowed=allowed, default=1)

    knobs = {"ints": knob("one of 1, 2"), "mixed": knob("one of 1, 'auto'")}
    dtypes = trial_dtypes(knobs, [])
    assert (dtypes["params.ints"], dtypes["params.mixed"]) == ("Int64", "str")
    frame = pd.DataFrame({"params.ints": [2], "params.mixed": [1]}, dtype=object)
    assert typed(frame, dtypes)["params.mixed"].tolist() == ["1"]


# -- the times of steps


def test_a_run_leaves_the_times_of_its_steps(finished_run: FinishedRun) -> None:
    steps = pd.read_parquet(finished_run.out / "steps.parquet")
    trials = pd.read_parquet(finished_run.out / "trials.parquet").set_index("trial_id")
    completed = trials[trials["state"] == "completed"]
    assert set(completed.index) <= set(steps["trial_id"])
    for trial_id, row in completed.iterrows():
        blocks = steps[steps["trial_id"] == trial_id]
        assert set(blocks["dropped"].dropna()) >= {"epoch_start"}
        assert blocks["num_steps"].sum() == 2 * 20 or row["stage"] != "train"
        steady = blocks[blocks["dropped"].isna()]
        rate = steady["samples"].sum() / steady["duration_s"].sum()
        assert rate == pytest.approx(row["metrics.samples_per_s"], rel=0.01)
    assert "blocks" not in (finished_run.out / RunFile.JOURNAL).read_text()


def test_what_came_before_a_trial_was_started_again_is_void(tmp_path: Path) -> None:
    log = Journal(tmp_path / RunFile.STEPS)
    rows = [block.to_row() for block in blocks_from([[0.5, *[0.01] * 20]])]
    for trial_id in ("a", "b", "a"):
        append(log, "started", trial_id=trial_id)
        append(log, "blocks", trial_id=trial_id, blocks=rows[:4])
        append(log, "blocks", trial_id=trial_id, blocks=rows[4:])
    log.close()
    found = steps_table(tmp_path, {"a"})
    assert set(found["trial_id"]) == {"a"}
    assert len(found) == len(rows)
    assert found["duration_s"].sum() == pytest.approx(0.7)


def test_types_of_step_times_do_not_depend_on_the_content(tmp_path: Path) -> None:
    log = Journal(tmp_path / RunFile.STEPS)
    append(log, "started", trial_id="a")
    empty = steps_table(tmp_path, {"a"})
    append(log, "blocks", trial_id="a", blocks=[[0, 0, 1, 8, 0.25, 1], [0, 1, 2, 16, 0.5, 0]])
    log.close()
    full = steps_table(tmp_path, {"a"})
    assert full.dtypes.equals(empty.dtypes)
    assert full["dropped"].tolist()[0] == "epoch_start"
    assert full["dropped"].isna().tolist() == [False, True]
    none = steps_table(tmp_path / "elsewhere", {"a"})
    assert none.dtypes.equals(empty.dtypes)


# -- the configs of a factored search

MADE_KNOBS = {
    "lr": KnobRecord(role=Role.LEARNING, default=0.1, allowed="a float > 0"),
    "workers": KnobRecord(role=Role.SYSTEMS, default=0, allowed="an int >= 0"),
    "fanouts": KnobRecord(role=Role.BOTH, default=(10, 25), allowed="a tuple of int"),
    "amp": KnobRecord(role=Role.BOTH, default=False, allowed="a bool"),
}
ROLES = {name: knob.role for name, knob in MADE_KNOBS.items()}
CONFIGS = [(0.1, 0, (10, 25), False), (1, 2, (5, 10), True)]


def candidates() -> pd.DataFrame:
    return candidates_table(tuple(MADE_KNOBS), CONFIGS, MADE_KNOBS, ROLES)


def test_cells_have_the_types_of_the_trials_candidates() -> None:
    made = candidates()
    assert [str(kind) for kind in made.dtypes] == ["float64", "Int64", "str", "boolean"]
    assert made["params.fanouts"].tolist() == ["10,25", "5,10"]


def test_they_are_read_as_they_were_written_with_the_roles(tmp_path: Path) -> None:
    write_candidates(tmp_path, candidates())
    read = pd.read_parquet(tmp_path / RunFile.CANDIDATES)
    pd.testing.assert_frame_equal(read, candidates())
    assert roles_of(read) == ROLES
    assert not list(tmp_path.glob(".*"))


def test_roles_that_were_found_replace_the_declared_ones() -> None:
    found = {**ROLES, "workers": Role.BOTH}
    declared = candidates()
    assert roles_of(with_roles(declared, found)) == found
    assert roles_of(declared) == ROLES
    assert roles_of(pd.DataFrame()) == {}

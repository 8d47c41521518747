"""The parent run after a sweep has ended, and after it has ended again with another answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run
from mlflow.tracking import MlflowClient

from orchestrator.analysis.tables.load import load_run
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import read_history
from orchestrator.storage.tables import write_candidates
from orchestrator.tracking.mlflow.content import MAX_TEXT, MirroredRun, Status
from orchestrator.tracking.mlflow.mirror import Mirror
from orchestrator.tracking.mlflow.parent import note, parent_status
from orchestrator.trial import Stage, TrialState
from tests.orchestrator.analysis.made_runs import MadeRun, factored_run, products_run
from tests.orchestrator.tracking.in_mlflow import assert_mirrored, runs_of, sqlite
from tests.orchestrator.tracking.journals import Scribe, config, events_of, make_trial
from tests.orchestrator.tracking.made_journal import write_run

TRIALS = (make_trial(0), make_trial(1), make_trial(2), make_trial(1, stage=Stage.CONFIRM))


def swept(run_dir: Path) -> Scribe:
    """Journal a sweep of a baseline, a faster config twice, another one and one that failed."""
    scribe = Scribe(run_dir).sweep()
    for trial in TRIALS:
        scribe.whole(trial)
    scribe.whole(make_trial(5), TrialState.FAILED)
    write_answer(run_dir)
    return scribe


@pytest.fixture
def scribe(run_dir: Path) -> Scribe:
    return swept(run_dir)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URI of an MLflow in which that sweep has ended; for tests that only read it."""
    folder = tmp_path_factory.mktemp("ended")
    run_dir = swept(folder / "run").run_dir
    for _ in range(2):  # written again, it is the same
        Mirror(run_dir, sqlite(folder)).finish(0)
    assert_mirrored(sqlite(folder), run_dir)
    return sqlite(folder)


def parent_of(uri: str) -> Run:
    (parent,), _ = runs_of(uri)
    return parent


def roles_of(uri: str) -> dict[str, str]:
    _, children = runs_of(uri)
    return {
        child.data.tags["mlflow.runName"]: child.data.tags.get("sweep.role", "")
        for child in children
    }


def test_the_parent_shows_the_answer(ended: str) -> None:
    data = parent_of(ended).data
    assert data.tags["mlflow.note.content"].startswith("**3 workers are 1.3 times as fast.**")
    assert "How many workers?" in data.tags["mlflow.note.content"]
    assert data.tags["mlflow.source.git.commit"] == "c0ffee"
    assert data.params["recommended.num_workers"] == "3"
    assert data.params["recommended.fanouts"] == "10,25"
    figures = {"speedup": 1.3, "samples_per_s": 1300.0, "val_acc_difference": -0.01}
    assert data.metrics == pytest.approx({**figures, "speedup_low": 1.2, "speedup_high": 1.4})


def test_children_have_the_roles_of_their_configs(ended: str) -> None:
    assert roles_of(ended) == {
        "baseline": "baseline",
        "num_workers=3": "recommended, front",
        "num_workers=6": "",
        "confirm num_workers=3": "recommended",
        "lr=0.004 num_workers=3": "",
    }
    tags = {child.data.tags["mlflow.runName"]: child.data.tags for child in runs_of(ended)[1]}
    assert tags["confirm num_workers=3"]["stage"] == "confirm"
    assert tags["confirm num_workers=3"]["repeat"] == "0"


def test_an_answer_that_changes_fails_nothing(scribe: Scribe, uri: str) -> None:
    Mirror(scribe.run_dir, uri).finish(0)
    other = {**RECOMMENDED["config"], "num_workers": 6}
    for recommended, now in ((other, "6"), (None, "nothing is")):
        write_answer(scribe.run_dir, config=recommended, speedup=None)
        scribe.resumed()
        Mirror(scribe.run_dir, uri).finish(0)
        data = parent_of(uri).data
        assert data.params["recommended.num_workers"] == "3", "MLflow changes no param"
        assert data.tags["recommended.num_workers"].startswith(now)
        assert str(data.metrics["speedup"]) == "nan", "it is not known any more"
        assert roles_of(uri)["num_workers=6"] == ("recommended" if now == "6" else "")
        assert "recommended" not in roles_of(uri)["confirm num_workers=3"]


def test_names_that_mlflow_refuses_are_changed(scribe: Scribe, tmp_path: Path) -> None:
    figures, config = {"val/größe (%)": 2.0}, {"lr (1/s)": 0.1}
    write_answer(scribe.run_dir, figures=figures, config=config)
    Mirror(scribe.run_dir, sqlite(tmp_path)).finish(0)
    data = parent_of(sqlite(tmp_path)).data
    assert data.metrics["val/größe ___"] == 2.0
    assert data.params["recommended.lr _1/s_"] == "0.1"


def test_half_a_sweep_gives_no_params_and_a_resumed_one_no_answer(scribe: Scribe, uri: str) -> None:
    mirror = Mirror(scribe.run_dir, uri)
    mirror.catch_up()
    assert roles_of(uri)["baseline"] == "baseline", "known before there is an answer"
    mirror.finish(130)
    data = parent_of(uri).data
    assert "3 workers" in data.tags["mlflow.note.content"]
    assert data.params == {}

    scribe.resumed()
    mirror = Mirror(scribe.run_dir, uri)
    mirror.catch_up()
    assert "3 workers" not in parent_of(uri).data.tags["mlflow.note.content"]
    mirror.finish(0)
    assert parent_of(uri).data.params["recommended.num_workers"] == "3"


def test_without_the_analysis_the_parent_has_its_question(scribe: Scribe, uri: str) -> None:
    (scribe.run_dir / RunFile.RECOMMENDED).unlink()
    Mirror(scribe.run_dir, uri).finish(1)
    data = parent_of(uri).data
    assert "How many workers?" in data.tags["mlflow.note.content"]
    assert data.metrics == {}


@pytest.mark.parametrize("made", [factored_run, pytest.param(products_run, marks=pytest.mark.slow)])
def test_a_config_has_the_speed_of_the_answer_on_each_of_its_runs(
    made: Callable[[], MadeRun], tmp_path: Path
) -> None:
    run, run_dir = made(), tmp_path / "run"
    run_dir.mkdir()
    if len(run.candidates):
        write_candidates(run_dir, run.candidates)
    write_run(run, run_dir)
    mirror = Mirror(run_dir, sqlite(tmp_path))
    mirror.finish(0)
    client = MlflowClient(sqlite(tmp_path))
    experiment_id, parent_id = mirror.ids
    speeds: dict[tuple[tuple[str, str], ...], set[float | None]] = {}
    for child in client.search_runs([experiment_id], "tags.stage != 'probe'"):
        if child.data.tags["state"] == "completed":
            key = tuple(sorted(child.data.params.items()))
            speeds.setdefault(key, set()).add(child.data.metrics.get("answer.samples_per_s"))
            if "recommended" in child.data.tags.get("sweep.role", ""):
                recommended = key
    assert all(len(of_config) == 1 and None not in of_config for of_config in speeds.values())
    parent = client.get_run(parent_id).data.metrics
    assert [*speeds[recommended]] == pytest.approx([parent["samples_per_s"]])
    tags = client.get_experiment(experiment_id).tags
    views = [text for name, text in tags.items() if name.startswith("mlflow.sharedViewState")]
    assert sum("metrics.`answer.samples_per_s`" in text for text in views) == 2
    assert not any("metrics.`samples_per_s`" in text for text in views)
    assert not any("answer" in name for name in load_run(run_dir).trials.columns)


# -- its tags, note and answer


RECOMMENDED: dict[str, Any] = {
    "config": {**config(1), "fanouts": [10, 25]},
    "speedup": {"ratio": 1.3, "low": 1.2, "high": 1.4},
    "accuracy_difference": {"metric": "val_acc", "centre": -0.01, "low": -0.02, "high": 0.0},
    "figures": {"samples_per_s": 1300.0, "samples_per_s_low": 1200.0, "test_acc": None},
}


def write_answer(run_dir: Path, **changes: object) -> None:
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / RunFile.RECOMMENDED).write_text(json.dumps({**RECOMMENDED, **changes}))
    front = f"params.lr,metrics.val_acc,trial_ids\n0.003,0.9,{make_trial(1).id} abc\n0.01,,def\n"
    (run_dir / RunFile.FRONT).write_text(front)
    (run_dir / RunFile.SPEEDS).write_text("trial_id,metric,value\n")
    (run_dir / RunFile.ANSWER).write_text("**3 workers are 1.3 times as fast.**\n")


@pytest.mark.parametrize(
    ("code", "status"),
    [(0, Status.FINISHED), (1, Status.FAILED), (130, Status.KILLED), (143, Status.KILLED)],
)
def test_the_parents_status_follows_the_exit_code(code: int, status: Status) -> None:
    assert parent_status(code) == status


def test_the_answer_comes_before_question_and_command(scribe: Scribe) -> None:
    run = MirroredRun(run_dir=Path("/runs/a"), history=read_history(events_of(scribe.run_dir)))
    text = note(run, "**3 workers are 1.3 times as fast.**")
    places = [text.index(part) for part in ("**3 workers", "How many workers?", "```\npython -m")]
    assert places == sorted(places)
    long = note(run, "word " * MAX_TEXT)
    assert len(long) <= MAX_TEXT
    assert long.endswith("Run directory: `/runs/a`")

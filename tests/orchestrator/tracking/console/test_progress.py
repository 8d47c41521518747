"""What leads so far is picked among trials that may be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.storage.history import read_history
from orchestrator.tracking.console.progress import Standing, standing
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial

FAST, SLOW = {"samples_per_s": 9e4, "val_acc": 0.9}, {"samples_per_s": 1e4, "val_acc": 0.9}


def standing_of(run_dir: Path, *results: dict[str, Any], **sweep: object) -> Standing:
    """After trials 0, 1, ... (trial 0 is the baseline's) that ended as told."""
    scribe = Scribe(run_dir)
    scribe.sweep(**sweep)
    for number, changes in enumerate(results):
        trial = scribe.asked(make_trial(number))
        scribe.started(trial)
        scribe.finished(trial, **changes)
    return standing(read_history(events_of(run_dir)), num_slots=1, now=0.0)


def leader(found: Standing) -> str:
    assert {best.title for best in found.best} <= {"recommended", "fastest", "most accurate"}
    return found.best[0].trial.trial.id


@pytest.mark.parametrize(
    "other",
    [
        {"tags": {"contaminated": "30 % of its cores' time went to other processes"}},
        {"tags": {"cpu_model": "another"}},
        {"device": "NVIDIA H200"},
    ],
    ids=["disturbed", "another processor", "a GPU"],
)
def test_what_may_not_be_compared_does_not_lead(tmp_path: Path, other: dict[str, Any]) -> None:
    found = standing_of(
        tmp_path, {"metrics": SLOW}, {"metrics": SLOW | {"val_acc": 0.8}}, {"metrics": FAST} | other
    )
    assert leader(found) == make_trial(0).id
    assert found.num_done == 3


def test_a_disturbed_baseline_is_none_to_compare_with_while_others_are_clean(
    tmp_path: Path,
) -> None:
    disturbed = {"metrics": SLOW, "tags": {"contaminated": "12 % of its cores' time"}}
    assert standing_of(tmp_path / "a", disturbed, {"metrics": FAST}).baseline is None
    assert standing_of(tmp_path / "b", disturbed, disturbed).baseline == 1e4


def test_a_sweep_over_devices_compares_them(tmp_path: Path) -> None:
    found = standing_of(
        tmp_path,
        {"metrics": SLOW},
        {"metrics": SLOW},
        {"metrics": FAST, "device": "NVIDIA H200"},
        space={"device": "choice('cpu', 'cuda')"},
    )
    assert leader(found) == make_trial(2).id


def test_before_anything_has_run_nothing_leads(tmp_path: Path) -> None:
    found = standing_of(tmp_path)
    assert found.best == []
    assert found.baseline is None

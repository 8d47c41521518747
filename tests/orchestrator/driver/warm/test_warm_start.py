"""What a search was told of first, kept with its run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.driver.warm.warm_start import WarmStart, kept_warm_start
from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.problem import EarlierConfig
from orchestrator.trial import TrialResult, TrialState
from tests.orchestrator.search.playing import completed, problem, small_batches_only
from tests.orchestrator.tracking.journals import make_record

FAST = EarlierConfig(
    config={"batch": 100, "fanouts": (15, 10)},
    results=[completed(samples_per_s=1 / 3), completed(samples_per_s=math.inf)],
)
TOO_LARGE = EarlierConfig(
    config={"batch": 1000}, results=[TrialResult(state=TrialState.INFEASIBLE)]
)


def test_what_is_kept_is_what_was_told(tmp_path: Path) -> None:
    told = WarmStart(runs=("/runs/a", "/runs/b"), configs=(FAST, TOO_LARGE), fingerprints=("", ""))
    told.write(tmp_path)
    kept = kept_warm_start(tmp_path, replace(make_record(), warm_start=told.runs))

    assert kept.runs == told.runs
    assert [each.config for each in kept.configs] == [FAST.config, TOO_LARGE.config]
    assert [[r.state for r in each.results] for each in kept.configs] == [
        [TrialState.COMPLETED, TrialState.COMPLETED], [TrialState.INFEASIBLE]
    ]  # fmt: skip
    assert [dict(r.metrics) for r in kept.configs[0].results] == [
        {"samples_per_s": 1 / 3}, {"samples_per_s": math.inf}
    ]  # fmt: skip


def test_a_run_without_a_warm_start_keeps_nothing(tmp_path: Path) -> None:
    WarmStart().write(tmp_path)

    assert list(tmp_path.iterdir()) == []
    assert kept_warm_start(tmp_path, make_record()) == WarmStart()


OURS = '{"runs": ["/runs/a"], "configs": '


@pytest.mark.parametrize(
    "text", ["", "[]", OURS + '[{"config": {}}]}', OURS + "[7]}", '{"runs": ["b"], "configs": []}']
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "warm_start.json").write_text(text)

    with pytest.raises(RunDirectoryError, match=r"warm_start\.json: .* cannot be read") as refused:
        kept_warm_start(tmp_path, replace(make_record(), warm_start=("/runs/a",)))
    assert "restore the file, or start a new run" in str(refused.value)


def test_what_the_sweep_s_constraints_exclude_is_not_told() -> None:
    told = WarmStart(runs=("a",), configs=(FAST, TOO_LARGE), fingerprints=("",))

    into = told.into(problem(constraints=small_batches_only())).earlier
    assert [each.config["batch"] for each in into] == [100]
    assert len(told.into(problem()).earlier) == 2


def test_each_run_on_other_data_is_named() -> None:
    told = WarmStart(runs=("/runs/a", "/runs/b", "/runs/c"), fingerprints=("1", "2", "3"))

    with pytest.raises(Exception, match="/runs/b: its data is not this run's") as refused:
        told.require_data("1")
    assert "/runs/c: its data is not this run's" in str(refused.value)
    assert "/runs/a" not in str(refused.value)

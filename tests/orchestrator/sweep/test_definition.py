"""A sweep refuses what is not to be trained, wherever it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SweepFileError
from orchestrator.sweep.definition import Sweep
from tests.orchestrator.sweep.refusals import refusal
from tests.orchestrator.sweep_files import line_of, written


def test_what_is_trained_must_be_a_trainable(tmp_path: Path) -> None:
    path = written(tmp_path, "SWEEP = Sweep(train, question='?', space={'lr': 3})\n")
    error = refusal(path)

    assert error.message == f"{path}:{line_of(path, 'SWEEP')}: trainable = train is not allowed"
    assert "a Trainable" in error.hint


def test_what_is_trained_must_be_a_trainable_outside_a_sweep_file_too() -> None:
    with pytest.raises(SweepFileError, match="trainable = 'graphsage' is not allowed"):
        Sweep("graphsage", question="?", space={})  # type: ignore[arg-type]

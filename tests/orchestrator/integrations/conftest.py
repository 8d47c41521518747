"""Trainings in a separate folder; the process is unchanged afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from orchestrator.measurement import usage


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder of a training, which must stay empty."""
    threads, folder = torch.get_num_threads(), tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS", "CRC32C_SW_MODE"):  # which libraries set
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(usage, "memory_at", lambda _: None)  # it takes longer than an epoch here
    yield folder
    torch.set_num_threads(threads)

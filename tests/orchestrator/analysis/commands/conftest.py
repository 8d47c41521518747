"""Two runs of one sweep on disk, for all tests that only read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.orchestrator.analysis.made_runs import products_run


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("products_loader")
    return tuple(products_run(seed=n).write(folder / f"run-{n}") for n in (0, 1))  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

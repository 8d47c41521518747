"""What this machine cannot count is refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.driver.budgets.budgets import Budgets, Prices
from orchestrator.driver.budgets.counters import require_counters
from orchestrator.errors import SweepError
from orchestrator.metrics import maximize, minimize
from orchestrator.system.energy import PackageEnergy
from tests.orchestrator.driver.plans import CPU, GPUS, sweep

ENERGY = {"objectives": [maximize("val_acc"), minimize("energy_j")]}
GPU_PRICE = {"prices": Prices(gpu_hour=2.5), "max_cost": 20.0}


@pytest.mark.parametrize(
    ("fields", "limits", "said"),
    [
        ({}, GPU_PRICE, "--max-cost 20: only a GPU-hour has a price, and no GPU"),
        ({"objectives": [minimize("peak_gpu_gib")]}, {}, "peak_gpu_gib is measured on GPUs"),
        (ENERGY, {}, "energy_j has no counter here: there is no GPU, and those of the CPU"),
    ],
    ids=["a price of GPUs", "memory of GPUs", "energy"],
)
def test_what_takes_a_gpu_or_a_counter_is_refused_without_one(
    fields: dict[str, Any],
    limits: dict[str, Any],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "orchestrator.driver.budgets.counters.PackageEnergy", lambda: PackageEnergy(tmp_path)
    )
    with pytest.raises(SweepError, match=said):
        require_counters(sweep(**fields), Budgets(**limits), CPU)
    require_counters(sweep(**fields), Budgets(**limits), GPUS)


def test_what_can_be_counted_is_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    for name in ("energy_uj", "max_energy_range_uj"):
        (package / name).write_text("1000\n")
    monkeypatch.setattr(
        "orchestrator.driver.budgets.counters.PackageEnergy", lambda: PackageEnergy(tmp_path)
    )
    require_counters(sweep(**ENERGY), Budgets(core_hours=1.0), CPU)
    both = Prices(cpu_hour=0.04, gpu_hour=2.5)
    require_counters(sweep(), Budgets(prices=both, max_cost=1.0), CPU)

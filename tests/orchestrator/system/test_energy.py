"""The energy of CPU packages, from counters as Linux shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.system.energy import PackageEnergy


def package(root: Path, name: str, energy_uj: int, most_uj: int = 9_999_999) -> Path:
    zone = root / name
    zone.mkdir(exist_ok=True)
    (zone / "energy_uj").write_text(f"{energy_uj}\n")
    (zone / "max_energy_range_uj").write_text(f"{most_uj}\n")
    return zone


def test_packages_are_summed_and_their_parts_are_in_them(tmp_path: Path) -> None:
    def set_to(first: int, second: int) -> None:
        package(tmp_path, "intel-rapl:0", first)
        package(tmp_path, "intel-rapl:1", second)

    package(tmp_path, "intel-rapl:0:0", 0)
    set_to(1_000_000, 5_000_000)
    energy = PackageEnergy(tmp_path)
    energy.read()
    set_to(3_000_000, 6_000_000)
    package(tmp_path, "intel-rapl:0:0", 900_000)
    energy.read()
    assert energy.joules == 3.0


@pytest.mark.parametrize(
    ("readings", "joules"),
    [
        pytest.param([(9_000_000, False), (1_000_000, False)], 2.0, id="a counter began anew"),
        pytest.param(
            [(0, False), (1_000_000, False), (8_000_000, True), (9_000_000, False)], 2.0, id="a gap"
        ),
        pytest.param([(None, False)], None, id="no counter"),
        pytest.param([(5, False), (None, False)], None, id="no longer readable"),
    ],
)
def test_energy_of_readings(
    tmp_path: Path, readings: list[tuple[int | None, bool]], joules: float | None
) -> None:
    zone = package(tmp_path, "intel-rapl:0", readings[0][0] or 0)
    energy = PackageEnergy(tmp_path)
    for uj, skip in readings:
        if uj is None:
            (zone / "energy_uj").unlink()
        else:
            package(tmp_path, zone.name, uj)
        energy.read(skip=skip)
    assert energy.joules == joules

"""The energy of CPU packages, from counters as Linux shows them."""

from __future__ import annotations

from pathlib import Path

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


def test_a_counter_that_began_anew_goes_on(tmp_path: Path) -> None:
    package(tmp_path, "intel-rapl:0", 9_000_000)
    energy = PackageEnergy(tmp_path)
    energy.read()
    package(tmp_path, "intel-rapl:0", 1_000_000)
    energy.read()
    assert energy.joules == 2.0


def test_a_gap_does_not_count(tmp_path: Path) -> None:
    energy = PackageEnergy(tmp_path)
    package(tmp_path, "intel-rapl:0", 0)
    energy = PackageEnergy(tmp_path)
    for uj, skip in ((0, False), (1_000_000, False), (8_000_000, True), (9_000_000, False)):
        package(tmp_path, "intel-rapl:0", uj)
        energy.read(skip=skip)
    assert energy.joules == 2.0


def test_without_counters_nothing_is_known(tmp_path: Path) -> None:
    energy = PackageEnergy(tmp_path)
    energy.read()
    assert energy.joules is None


def test_a_counter_that_may_not_be_read_leaves_nothing_known(tmp_path: Path) -> None:
    zone = package(tmp_path, "intel-rapl:0", 5)
    (zone / "energy_uj").unlink()
    energy = PackageEnergy(tmp_path)
    energy.read()
    assert energy.joules is None

"""The checks on public numbers: made ones with a known answer, and the real ones."""

import pandas as pd
import pytest

from benchmarks import proofs

POINT = (16384, 0.002)
REFERENCE = {POINT: [0.8, 0.9] * 5}


def group(system: str, epochs: float, epoch_s: float = 100.0) -> pd.DataFrame:
    """Two runs that are at the target after so many epochs, one a little sooner."""
    rows = [
        ("v0", "org", system, f"result_{run}.txt", *POINT, count / 20, 0.7 + 0.02 * (count >= last),
         20.0 + epoch_s * count / 20)
        for run, last in enumerate((round(20 * epochs) - 1, round(20 * epochs) + 1))
        for count in range(1, last + 1)
    ]  # fmt: skip
    names = ["version", "org", "system", "run", "batch_size", "lr", "epoch", "val_acc", "elapsed_s"]
    return pd.DataFrame(rows, columns=names)


def test_a_time_is_set_up_and_the_references_epochs_at_the_systems_speed() -> None:
    runs = pd.concat([group("slow", 0.85, epoch_s=200.0), group("fast", 0.85)])
    groups = proofs.groups_of(runs, REFERENCE)
    probes = {name: proofs.probe(own) for name, own in groups.items()}
    assert proofs.predicted_s(probes, REFERENCE).to_dict() == pytest.approx(
        {"v0 org fast 16384 0.002": 20 + 85.0, "v0 org slow 16384 0.002": 20 + 170.0}
    )


def test_a_group_that_takes_other_epochs_is_named_and_not_counted() -> None:
    runs = pd.concat([group("usual", 0.85), group("other", 1.7)])
    lines = "\n".join(proofs.prediction_lines(runs, REFERENCE))
    assert "- v0 org other 16384 0.002 does not fit the reference: 2.00 times" in lines
    assert "of its first run | 1 | 0.00% | 0.0% |  | met |" in lines


def test_on_the_public_runs_two_groups_do_not_fit_and_eos_pays_to_64_gpus() -> None:
    runs, reference = proofs.read()
    lines = list(proofs.prediction_lines(runs, reference))
    far = [line for line in lines if "does not fit" in line]
    assert len(far) == 2
    assert all("University-of-Florida" in line for line in far)
    rows = proofs.scaled(runs)
    assert rows["params.gpus"].tolist() == [8, 64, 512]
    assert rows[proofs.TIME][0] / rows[proofs.TIME][2] == pytest.approx(9.8, abs=0.05)
    assert rows["device_s"][2] / rows["device_s"][0] == pytest.approx(6.5, abs=0.05)

"""What is made of several sweeps that checked what company does."""

from __future__ import annotations

import pytest

from benchmarks import company
from benchmarks.company import Answer


def test_a_row_tells_the_mean_the_spread_and_what_the_sweeps_stated() -> None:
    answers = [Answer(ratio=ratio, half=0.02, seconds=50.0) for ratio in (0.98, 0.99, 1.0)]
    row = company._row("lenet", "in turns", answers)
    assert row == "| lenet | in turns | 3 | 0.990 | 1.0% | ±2.0% | 50 s |"


@pytest.mark.parametrize("sweeps", ["1", "0", "many"])
def test_one_sweep_has_no_spread(sweeps: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        company.main(["lenet", "--sweeps", sweeps])
    assert ended.value.code == 2
    assert f"argument --sweeps: '{sweeps}' is not allowed" in capsys.readouterr().err

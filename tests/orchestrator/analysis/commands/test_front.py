"""``python -m orchestrator.analysis front``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.__main__ import main
from orchestrator.analysis.api.fronts import pareto_front
from orchestrator.analysis.tables.load import load_run


def front(run: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["front", str(run), "--json", *words]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_without_objectives_it_is_the_sweeps_own(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    document = front(runs[0], capsys=capsys)
    expected = pareto_front(load_run(runs[0]))
    assert [o["metric"] for o in document["objectives"]] == ["samples_per_s", "val_acc"]
    assert [row["samples_per_s"] for row in document["front"]] == pytest.approx(
        expected["metrics.samples_per_s"].tolist()
    )


def test_any_figures_make_a_front_each_in_its_own_direction(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    document = front(runs[0], "--objectives", "samples_per_s, peak_rss_gib", capsys=capsys)
    assert [o["goal"] for o in document["objectives"]] == ["maximize", "minimize"]
    assert {row["config"]["num_workers"] for row in document["front"]} == {0, 3, 8}
    (slowest,) = front(runs[0], "--objectives", "minimize:samples_per_s", capsys=capsys)["front"]
    assert slowest["config"]["num_workers"] == 0


def test_it_is_printed_by_the_knobs_that_differ(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["front", str(runs[0]), "--objectives", "samples_per_s,peak_rss_gib"]) == 0
    text = capsys.readouterr().out
    assert "lr=0.01 num_workers=8" in text
    assert "batch_size" not in text, "all of this front have the same"


def test_a_figure_that_no_run_has_makes_an_empty_front(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["front", str(runs[0]), "--objectives", "minimize:gpu_util"]) == 0
    assert "no config completed with gpu_util (minimize)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        ("val_ac", "--objectives: the run has no figure 'val_ac'; did you mean 'val_acc'?"),
        ("maximise:val_acc", "--objectives: the run has no figure 'maximise:val_acc'"),
        ("val_acc,gpu_util", "write maximize:gpu_util or minimize:gpu_util"),
        ("minimize:group", "--objectives: group is text, so that no value is better"),
        ("val_acc,", "--objectives: 'val_acc,' has an empty name"),
        ("val_acc,epoch_s,step_ms,eval_s", "takes one, two or three objectives, not 4"),
    ],
)
def test_a_wrong_objective_is_one_message(
    objectives: str, message: str, runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["front", str(runs[0]), "--objectives", objectives]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""

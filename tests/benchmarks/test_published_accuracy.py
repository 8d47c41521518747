from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from benchmarks.trainables import published_accuracy
from benchmarks.trainables.published_accuracy import (
    CASES,
    Case,
    Target,
    main,
    page,
    row,
    rows_of,
)
from orchestrator.standalone import _parser

EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@EVERY_CASE
def test_every_command_is_one_that_its_trainable_takes(case: Case) -> None:
    module, *arguments = case.command("DATA", case.seeds[0])[1:]
    trainable = getattr(importlib.import_module(module), case.name)
    options = _parser(trainable).parse_args(arguments)
    assert options.test
    assert options.data == f"DATA/{case.data}"


def test_a_target_has_an_upper_limit_where_more_would_be_something_else() -> None:
    target = Target(at_least=0.978, at_most=0.984, meaning="0.981 ± 0.003")
    reached = {figure: target.is_reached(figure) for figure in (0.9779, 0.978, 0.984, 0.9841)}
    assert reached == {0.9779: False, 0.978: True, 0.984: True, 0.9841: False}


def test_rows_of_other_cases_stay_in_the_page(tmp_path: Path) -> None:
    results = tmp_path / "accuracy.md"
    assert rows_of(results) == {}
    lenet, mlp, *_ = CASES
    rows = {"mlp": row(mlp, [0.98], 60.0)}
    results.write_text("\n".join(page(rows)))
    assert rows_of(results) == rows
    missed = row(lenet, [0.9, 0.98, 0.97], 60.0)
    assert "| 0.9700 **missed** | 0.9000, 0.9800, 0.9700 | 1.0 |" in missed
    results.write_text("\n".join(page({**rows_of(results), "lenet": missed})))
    assert rows_of(results) == {"mlp": rows["mlp"], "lenet": missed}


@pytest.mark.slow
def test_a_case_is_run_as_its_command_says(
    tmp_path: Path, test_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One epoch of GraphSAGE on Amazon Photo misses what thirty reach: so it is seen."""
    monkeypatch.setattr(published_accuracy, "RESULTS", tmp_path)
    short = "--epochs 1 --steps 2 --batch-size 100 --fanouts 3,3 --hidden 8"
    monkeypatch.setattr(
        published_accuracy,
        "CASES",
        [
            Case(
                name=case.name,
                data=case.data,
                arguments=short,
                metric=case.metric,
                target=case.target,
            )
            for case in CASES
            if case.name == "graphsage"
        ],
    )
    assert main(["--data-root", str(test_data)]) == 1
    [page_written] = tmp_path.iterdir()
    text = page_written.read_text()
    assert "**missed**" in text
    assert str(test_data) not in text
    assert (
        f"`python -m trainables.graphsage --data DATA/ogb/ogbn_products --seed 0 --test {short}`"
        in text
    )


def test_without_real_data_it_says_what_to_give(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SWEEP_TEST_DATA", raising=False)
    with pytest.raises(SystemExit) as exit_:
        main(["--only", "lenet"])
    assert exit_.value.code == 2
    assert "give --data-root, or set SWEEP_TEST_DATA" in capsys.readouterr().err

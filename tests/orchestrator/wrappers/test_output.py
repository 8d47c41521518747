from __future__ import annotations

import pytest

from orchestrator.wrappers.command import Figures


@pytest.mark.parametrize(
    "line",
    [
        "epoch 3: val_acc=0.9 loss: 2e-1",
        "val_acc: 90 %, loss = .2 (3 s)",
        'INFO {"val_acc": 0.9, "loss": 0.2}',
        '{"val_acc": 0.9, "loss": 0.2, "name": "x"}',
        "{'val_acc': 0.9, 'loss': 0.2}",
    ],
)
def test_a_line_with_all_figures_is_a_report(line: str) -> None:
    assert Figures(["val_acc", "loss"]).read(line) == {"val_acc": 0.9, "loss": 0.2}


def test_other_names_and_nested_ones() -> None:
    figures = Figures(["acc", "val/acc"])

    assert figures.read("val_acc=0.5 train/acc=0.7 acc=none") == {}
    assert figures.read('{"acc": 0.1, "val": {"acc": 0.2, "on": [1]}}') == {
        "acc": 0.1,
        "val/acc": 0.2,
    }


def test_a_report_over_several_lines_ends_with_its_last_figure_or_the_next_report() -> None:
    figures = Figures(["a", "b"])

    assert figures.read("samples=10") == {}
    assert figures.read("a=1") == {}
    assert figures.read("b=2") == {"samples": 10, "a": 1, "b": 2}
    assert figures.read("a=3") == {}
    assert figures.read("a=4") == {"a": 3}, "without b"
    assert figures.rest() == {"a": 4}
    assert figures.rest() == {}


def test_a_pattern_has_a_group_a_figure() -> None:
    figures = Figures(["acc"], r"accuracy of (?P<acc>\S+)|(?P<samples>\d+) images")

    assert figures.read("acc=0.3") == {}
    assert figures.read("after 100 images") == {}
    assert figures.read("an accuracy of 0.4") == {"samples": 100, "acc": 0.4}

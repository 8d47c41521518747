"""Figures, durations and values as text."""

from __future__ import annotations

from orchestrator.tracking.console.wording import (
    differing,
    figure,
    named_figure,
    printable,
    short,
)


def test_figures_read_well() -> None:
    assert figure("step_ms", 12.34567) == "12.35 ms"
    assert figure("my_own", 0.123456) == "0.1235"
    assert [figure(name, 0.5) for name in ("val_balanced_acc", "val_auc")] == ["0.5000"] * 2
    assert [short(v) for v in (True, 0.0030001, (10, 25), "bf16")] == [
        "on",
        "0.003",
        "10,25",
        "bf16",
    ]


def test_a_figure_has_its_name_or_its_unit() -> None:
    assert named_figure("samples_per_s", 41_234) == "41.2k samples/s"
    assert named_figure("samples_per_s", 41.234) == "41.2 samples/s"
    assert named_figure("val_acc", 0.86667) == "val_acc 0.8667"


def test_a_config_is_told_by_what_differs_from_the_baseline() -> None:
    baseline = {"lr": 0.003, "fanouts": [10, 25], "workers": 0, "amp": "off"}
    varied = ["workers", "fanouts", "lr"]
    same = {"lr": 0.003, "fanouts": (10, 25), "workers": 0, "amp": "bf16"}
    assert differing(same, baseline, varied) == ["baseline"]
    assert differing(same | {"lr": 0.02, "workers": 8}, baseline, varied) == [
        "workers=8",
        "lr=0.02",
    ]


def test_what_others_have_written_moves_no_cursor() -> None:
    assert printable("\x1b[31mred\x1b[0m\tand\r\nmore\x07 \x1b]0;title\x07text") == (
        "red and more text"
    )

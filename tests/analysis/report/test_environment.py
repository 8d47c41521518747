"""What was run, and on what."""

from __future__ import annotations

import pytest

from analysis.report.environment import environment_of
from analysis.report.view import View
from tests.analysis.made_runs import products_run
from tests.analysis.report.pages import view_of_run


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command", "python -m orchestrator sweeps/products_loader.py"),
        ("started", "2026-09-21 14:13 UTC"),
        ("git commit", "0a3ebe6d1c with uncommitted changes"),
        ("budget of a trial", "3 epochs"),
        ("cpu model", "Xeon 2.2 GHz"),
        ("gpus", "none"),
        ("confirm runs", "3"),
    ],
)
def test_the_environment_by_name(view: View, name: str, value: str) -> None:
    assert dict(environment_of(view))[name] == value


def test_a_number_that_may_be_extended_has_its_largest() -> None:
    run = products_run()
    run.sweep["max_confirm"] = 12
    assert dict(environment_of(view_of_run(run)))["confirm runs"] == "3, up to 12"


def test_what_is_not_known_is_left_out() -> None:
    run = products_run()
    run.sweep["data_fingerprint"] = ""
    assert "data fingerprint" not in dict(environment_of(view_of_run(run)))

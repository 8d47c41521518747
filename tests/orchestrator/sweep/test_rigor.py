"""The rigor of a sweep: presets, values of the command line, old fields."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from orchestrator import Rigor, Sweep
from orchestrator.errors import SweepFileError
from orchestrator.sweep.loading import load_sweep
from orchestrator.sweep.rigor import PRESETS, rigor_findings, with_setting
from tests.orchestrator.helpers.sweep_files import GOOD, written


def test_a_sweep_has_few_fields() -> None:
    assert len(fields(Sweep)) <= 24


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_a_name_and_allowed_values(tmp_path: Path, name: str) -> None:
    sweep = load_sweep(written(tmp_path, GOOD.replace("epochs=2", f"epochs=2, rigor={name!r}")))
    assert sweep.rigor == PRESETS[name] == getattr(Rigor, name)()
    assert list(rigor_findings(sweep.rigor)) == []
    assert replace(sweep, epochs=3).rigor == sweep.rigor


def test_the_presets_are_ordered_and_standard_is_the_default(tmp_path: Path) -> None:
    quick, standard, thorough = PRESETS.values()
    assert load_sweep(written(tmp_path, GOOD)).rigor == standard == Rigor()
    for name in ("max_repeats", "max_confirm", "finalists", "check_isolated"):
        assert getattr(quick, name) < getattr(standard, name) < getattr(thorough, name)


def test_an_old_field_works_and_names_the_new_one(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace("epochs=2", "epochs=2, confirm=5, retries=0"))
    with pytest.warns(FutureWarning, match=r"rigor=Rigor\(confirm=5, retries=0\)") as warned:
        assert load_sweep(file).rigor == Rigor(confirm=5, retries=0)
    assert warned[0].filename == str(file), "the place is the sweep file's"


@pytest.mark.parametrize(
    ("setting", "changes"),
    [
        ("rigor.confirm=5", {"confirm": 5}),
        ("rigor.interleaved=false", {"interleaved": False}),
        ("rigor.half_width=0.1", {"half_width": 0.1}),
        ("rigor.half_width=None", {"half_width": None}),
        ("rigor.time_limit_s=90", {"time_limit_s": 90.0}),
        ("rigor=standard", {}),
    ],
)
def test_a_setting_has_the_type_of_its_field(setting: str, changes: dict[str, object]) -> None:
    assert with_setting(Rigor(), setting) == replace(Rigor(), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("rigor=quik", "did you mean 'quick'"),
        ("rigor.confrim=1", "did you mean 'confirm'"),
        ("rigor.confirm=x", "allowed: an int >= 0"),
        ("rigor.tie_margin=nan", "allowed: a fraction of 1"),
        ("rigor.time_limit_s=inf", "allowed: seconds > 0"),
        ("rigor.interleaved=2", "allowed: True or False"),
        ("rigor.retries", "allowed: an int >= 0"),
    ],
)
def test_a_setting_that_is_not_allowed_is_refused(setting: str, said: str) -> None:
    with pytest.raises(SweepFileError) as refused:
        with_setting(Rigor(), setting)
    assert said in str(refused.value)

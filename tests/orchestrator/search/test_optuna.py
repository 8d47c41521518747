"""Optuna in a sweep file: the samplers, their names and what is refused."""

from __future__ import annotations

import warnings

import pytest

from orchestrator.errors import SweepFileError
from orchestrator.search import Optuna, Sampler


def test_a_sampler_may_be_given_by_its_name() -> None:
    assert Optuna(9, sampler="gp") == Optuna(9, sampler=Sampler.GP)
    assert Optuna(9, sampler="gp").with_trials(3) == Optuna(3, sampler=Sampler.GP)


def test_an_unknown_sampler_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SweepFileError) as refused:
        Optuna(9, sampler="sobel")

    assert "Optuna: sampler = 'sobel' is not allowed; did you mean 'sobol'?" in str(refused.value)
    assert "allowed: tpe, nsga2, gp, sobol" in str(refused.value)


@pytest.mark.parametrize("sampler", Sampler)
def test_optuna_makes_each_without_a_warning(sampler: Sampler) -> None:
    names = {"tpe": "TPESampler", "nsga2": "NSGAIISampler", "gp": "GPSampler"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = sampler.made(trials=30, seed=0)

    assert type(made).__name__ == names.get(sampler, "QMCSampler")


def test_earlier_results_change_what_all_but_sobol_s_sequence_suggests() -> None:
    assert {sampler: Optuna(sampler=sampler).warm_starts for sampler in Sampler} == {
        "tpe": True, "nsga2": True, "gp": True, "sobol": False
    }  # fmt: skip

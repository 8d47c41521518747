"""Runs of differing machines, versions or data are not compared."""

from __future__ import annotations

import re
from typing import Any

import pytest

from orchestrator.analysis.comparison.compare import compare
from orchestrator.errors import SweepError
from tests.orchestrator.analysis.comparison.drawn import base_run, run_of, with_sweep

HARDWARE = dict(base_run(3).sweep.hardware)
VERSIONS = dict(base_run(3).sweep.versions)


@pytest.mark.parametrize(
    ("fields", "key", "values"),
    [
        ({"hardware": HARDWARE | {"cpu_model": "EPYC"}}, "hardware.cpu_model", "2.2 GHz and EPYC"),
        ({"hardware": HARDWARE | {"gpus": ["H200"]}}, "hardware.gpus", "[] and ['H200']"),
        ({"versions": VERSIONS | {"torch": "2.11.0"}}, "versions.torch", "2.15.0 and 2.11.0"),
        ({"versions": VERSIONS | {"glibc": "2.41"}}, "versions.glibc", "not recorded and 2.41"),
        ({"cores_per_trial": 2}, "cores_per_trial", "4 and 2"),
        ({"data_fingerprint": "abc"}, "data_fingerprint", "9f0c1d and abc"),
        ({"data_fingerprint": ""}, "data_fingerprint", "9f0c1d and not recorded"),
        ({"hardware": {}}, "hardware.cpu_model", "Xeon 2.2 GHz and not recorded"),
    ],
)  # fmt: skip
def test_a_difference_is_refused_by_its_key_and_both_values(
    fields: dict[str, Any], key: str, values: str
) -> None:
    first, second = run_of(1), with_sweep(run_of(2), **fields)
    with pytest.raises(SweepError) as refused:
        compare(first, second)
    assert re.search(f"{re.escape(key)}: .*{re.escape(values)}", str(refused.value))
    assert f"--across {key}" in refused.value.hint


def test_a_difference_may_be_what_is_compared() -> None:
    second = with_sweep(run_of(2), cores_per_trial=2)
    assert len(compare(run_of(1), second, across=["cores_per_trial"]).table) == 4


@pytest.mark.parametrize(
    "fields",
    [
        {"git": {"commit": "other"}},
        {"versions": VERSIONS | {"mlflow": "4.0"}},
        {"hardware": HARDWARE | {"memory_gib": 15.61}},
    ],
)
def test_what_no_timed_step_depends_on_may_differ(fields: dict[str, Any]) -> None:
    assert len(compare(run_of(1), with_sweep(run_of(2), **fields)).table) == 4

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from orchestrator.provenance.node_tags import TIMED_PACKAGES, clock_policy, node_tags, nodes_record


def test_a_row_says_what_it_was_measured_on() -> None:
    tags = node_tags()
    assert tags["cpu_model"]
    assert f"python {platform.python_version()}" in tags["versions"]
    assert all(name in TIMED_PACKAGES for name in tags["versions"].split()[::2])


def test_only_the_drivers_own_node_is_described_before_a_trial_ran() -> None:
    here = platform.node()
    assert nodes_record((here, "another")) == {here: dict(node_tags())}


@pytest.mark.parametrize(
    ("files", "policy"),
    [
        ({}, ""),
        ({"cpu0/cpufreq/scaling_governor": "powersave"}, "powersave"),
        (
            {"cpu0/cpufreq/scaling_governor": "performance", "intel_pstate/no_turbo": "1"},
            "performance, turbo off",
        ),
        ({"cpufreq/boost": "1"}, "turbo on"),
    ],
)
def test_the_clock_policy_is_what_the_kernel_says(
    tmp_path: Path, files: dict[str, str], policy: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")
    assert clock_policy(tmp_path) == policy

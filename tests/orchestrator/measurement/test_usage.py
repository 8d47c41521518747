"""CPU time and faults of this process, and torch's settings in it."""

from __future__ import annotations

import mmap
import time

import pytest
import torch

from orchestrator.measurement.usage import Usage, settings, usage_now


def test_usages_are_added_and_subtracted_field_by_field() -> None:
    first = Usage(user_s=1.0, system_s=2.0, minor_faults=3)
    second = Usage(user_s=0.5, system_s=0.25, minor_faults=2)
    assert first + second == Usage(user_s=1.5, system_s=2.25, minor_faults=5)
    assert first - second == Usage(user_s=0.5, system_s=1.75, minor_faults=1)


def test_work_of_this_process_shows() -> None:
    before = usage_now()
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    with mmap.mmap(-1, 4 * 2**20) as pages:
        pages.write(b"x" * len(pages))
    spent = usage_now() - before
    assert spent.user_s + spent.system_s >= 0.04
    assert spent.minor_faults >= 2, "pages of 2 MiB at the largest"


def test_torch_s_settings_are_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings() == {"threads": str(torch.get_num_threads()), "deterministic": "off"}
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    assert settings()["deterministic"] == "cudnn"

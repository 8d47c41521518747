"""No Ray in the test's process, as there is none in a trial's."""

import pytest
import ray


@pytest.fixture(autouse=True)
def _without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide a Ray that tests elsewhere have started in this process, and what the driver sets."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.delenv("RAY_CHDIR_TO_TRIAL_DIR", raising=False)

"""A guard: modules that a test imports from its folder are removed after it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def import_state(tmp_path: Path) -> Iterator[None]:
    """Restore the import path, and remove the test's own modules."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]

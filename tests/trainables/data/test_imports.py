from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import trainables.data
from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from trainables.data.formats.ogb_loader import node_set_release
from trainables.data.sets.digits import DIGITS

HEAVY = {"torch", "torchvision", "dgl", "ogb", "sklearn", "scipy", "pandas", "ray", "mlflow"}


def test_importing_data_sets_imports_no_heavy_library() -> None:
    """The driver imports them, and answers ``--help`` within a second."""
    found = pkgutil.walk_packages(trainables.data.__path__, "trainables.data.")
    names = [module.name for module in found]
    assert len(names) > 25
    code = f"import sys, {', '.join(names)}; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_missing_library_is_named(folders: DataFolders, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(DataError, match="the data set digits needs the package scikit-learn"):
        DIGITS.prepare(folders)
    monkeypatch.delitem(sys.modules, "ogb", raising=False)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(DataError, match="reading OGB's layouts needs the package ogb"):
        node_set_release("ogbn-products")

from __future__ import annotations

import pkgutil
import subprocess
import sys

import trainables.data

HEAVY = {"torch", "torchvision", "dgl", "ogb", "sklearn", "scipy", "pandas", "ray", "mlflow"}


def test_importing_data_sets_imports_no_heavy_library() -> None:
    """The driver imports them, and answers ``--help`` within a second."""
    names = [
        f"trainables.data.{found.name}" for found in pkgutil.iter_modules(trainables.data.__path__)
    ]
    assert len(names) > 5
    code = f"import sys, {', '.join(names)}; print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

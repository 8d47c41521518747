"""The modules of warm trainables: a fork server that has imported them can still be forked."""

from __future__ import annotations

import json
import subprocess
import sys

from orchestrator.trainable import IF_POSSIBLE
from tests.conftest import ROOT
from tests.trainables.contract import CASES

IMPORTED = """
import importlib, json, os, sys

def import_and_count(modules):
    for module in modules:
        importlib.import_module(module)
    return len(os.listdir("/proc/self/task"))

others, own = json.loads(sys.argv[1])
before = import_and_count(others)  # the pools of numpy's and scipy's OpenBLAS, which survive a fork
after = import_and_count(own)
import torch
print(after - before, torch.cuda.is_initialized())
"""


def test_importing_them_starts_no_thread_and_touches_no_gpu() -> None:
    trainables = [case.trainable for case in CASES]
    assert all(trainable.warm for trainable in trainables)
    imports = {name for trainable in trainables for name in trainable.imports}
    own = sorted(name for name in imports if name.startswith(IF_POSSIBLE))
    assert len(own) == len(trainables)
    others = ["orchestrator.execution.process.child", *sorted(imports - {*own})]
    asked = json.dumps([others, [name.removeprefix(IF_POSSIBLE) for name in own]])
    command = [sys.executable, "-c", IMPORTED, asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]

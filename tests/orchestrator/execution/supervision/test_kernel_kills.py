"""Kills of the kernel for a control group's memory limit, which make a trial infeasible."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pandas as pd
import pytest

from tests.conftest import ROOT, RunCli

LIMIT = 2 * 2**30
SWEEP = """
from typing import Literal

import torch
from torch.utils.data import DataLoader

from orchestrator import Rigor, Sweep, Trainable, choice, knobs, maximize, systems
from orchestrator.search import Grid

Act = Literal["fits", "takes", "worker_takes"]


@knobs
class Config:
    act: Act = systems(default="fits", doc="process that takes more memory than there is")


class Items(torch.utils.data.Dataset):
    def __init__(self, taking):
        self.taking = taking

    def __len__(self):
        return 20

    def __getitem__(self, index):
        if self.taking and index == 5:
            torch.ones(2**30)
        return torch.ones(1)


def train(config, run):
    loader = DataLoader(Items(config.act == "worker_takes"), batch_size=2, num_workers=1)
    for epoch in run.epochs():
        for step, batch in enumerate(run.batches(loader, samples=len)):
            if config.act == "takes" and step == 3:
                torch.ones(2**30)
        run.report(val_acc=0.9)


SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc")], preload=("torch",), name="greedy"),
    question="What does the kernel take?",
    space=Config(act=choice("fits", "takes", "worker_takes")),
    epochs=1,
    search=Grid(),
    rigor=Rigor(confirm=0, max_repeats=1),
    cores_per_trial=1,
    memory_per_trial_gib=64.0,
)
"""


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group with a memory limit, where this machine lets one make it."""
    own = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        own[controllers] = path.lstrip("/")
    mount = Path("/sys/fs/cgroup")
    if "memory" in own:
        folder, limit = mount / "memory" / own["memory"], "memory.limit_in_bytes"
    else:
        folder, limit = mount / own.get("", ""), "memory.max"
    group = folder / f"test-{uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / limit).write_text(str(LIMIT))
    except OSError as error:
        with suppress(OSError):
            group.rmdir()
        pytest.skip(f"no control group with a memory limit can be made here: {error}")
    yield group
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    pytest.fail(f"{group} still has processes: {(group / 'cgroup.procs').read_text()}")


@pytest.mark.slow
def test_what_the_kernel_kills_for_its_memory_is_infeasible(
    run_cli: RunCli, memory_group: Path, tmp_path: Path
) -> None:
    """The trial's own limit is so high that its guard does not come first.

    Beside this, ``test_endings.py`` has the cases one by one, without a kernel.
    """
    file, out = tmp_path / "greedy.py", tmp_path / "run"
    file.write_text(SWEEP)
    entered = tmp_path / "entered.py"
    # The driver is in the group, and so is all that it starts.
    entered.write_text(
        "import os, runpy, sys\n"
        f"open({str(memory_group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "sys.argv[0] = 'orchestrator'\n"
        "runpy.run_module('orchestrator', run_name='__main__')\n"
    )
    done = run_cli(file, "--executor", "inline", "--no-mlflow", "--out", out, module="entered")
    assert done.returncode == 0, f"{shlex.join(sys.argv)}\n{done.stdout}\n{done.stderr}"
    trials = pd.read_parquet(out / "trials.parquet").set_index("params.act")
    assert trials["state"].to_dict() == {
        "fits": "completed", "takes": "infeasible", "worker_takes": "infeasible",
    }  # fmt: skip
    assert trials.loc["takes", "reason"].startswith(
        "out of memory: the kernel killed the training process at "
    )
    assert trials.loc["worker_takes", "reason"].startswith("out of memory ")
    assert "DataLoader worker" in trials.loc["worker_takes", "reason"]

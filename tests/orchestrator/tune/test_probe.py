"""Tests for ``orchestrator.tune.probe``: a process of a script, without the command around it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from pathlib import Path

from orchestrator.system.import_path import environment_with
from orchestrator.tune.plan import Found, Setting, Task
from tests.helping import python

SCRIPT = """\
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Data(Dataset):
    def __len__(self):
        return {length}

    def __getitem__(self, i):
        if {in_main} and get_worker_info():
            raise OSError("only in the main process")
        return torch.full((1,), float(i))


weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.0)
statistics = [x.mean() for x, _ in zip(DataLoader(Data(), batch_size=2), range(3))]
for x in DataLoader(
    Data(), batch_size=2, shuffle=True
):
    (x * weight).sum().backward()
    optimizer.step()
"""


def script(length: int, *, in_main: bool = False) -> str:
    return SCRIPT.replace("{length}", str(length)).replace("{in_main}", str(in_main))


def probed(
    folder: Path,
    mode: str,
    *settings: Setting,
    in_main: bool = False,
    loader: int | None = None,
    length: int = 100_000,
) -> Found:
    (folder / "train.py").write_text(script(length, in_main=in_main))
    task = Task(
        mode=mode, settings=settings, loader=loader, told=[], began_s=time.monotonic(),
        budget_s=600, until_s=time.monotonic() + 100, slice_s=0.01, num_cores=1, batch_sizes=[],
        amp=False,
    )  # fmt: skip
    (folder / "task").write_bytes(pickle.dumps(task))
    words = [sys.executable, "-P", "-m", "orchestrator.tune.probe", "task", "train.py"]
    subprocess.run(words, cwd=folder, env=environment_with(), check=True, timeout=100)
    found = pickle.loads((folder / "task").read_bytes())
    assert isinstance(found, Found)
    return found


def test_settings_take_turns_on_the_loader_that_optimizer_steps_follow(tmp_path: Path) -> None:
    found = probed(tmp_path, "explore")

    sites = [site and (Path(site.file).name, site.line) for site in found.sites]
    assert (found.loader, sites) == (1, [("train.py", 17), ("train.py", 18)])
    assert (found.own, found.batches, found.turn) == (Setting(num_workers=0), 50_000, None)
    assert {each.setting.num_workers for each in found.told} == {0, 1, 2}
    assert all(each.samples_per_s > 0 and 0 < each.wait_share < 1 for each in found.told)


def test_settings_that_do_not_run_are_left_out_with_their_reason(tmp_path: Path) -> None:
    found = probed(tmp_path, "explore", in_main=True)

    assert {each.num_workers for each in found.failed} == {1, 2}
    assert all(why.startswith("OSError: Caught OSError") for why in found.failed.values())
    assert found.best == found.own


def test_the_first_batches_are_those_of_the_script_whatever_the_setting(tmp_path: Path) -> None:
    seeded = "import random, torch; random.seed(0); torch.manual_seed(0)\n"
    text = script(16).replace("optimizer.step()", "print(x.sum().item())")
    plain = python("-c", f"{seeded}{text}", env=environment_with(), timeout=100)

    learned = [
        probed(tmp_path, "check", Setting(num_workers=workers), loader=1, length=16).learned
        for workers in (0, 2)
    ]

    assert learned[0][2] == [float(line) for line in plain.stdout.splitlines()]
    assert learned[0] == learned[1]
    assert [len(each) for each in learned[0]] == [8, 8, 8]

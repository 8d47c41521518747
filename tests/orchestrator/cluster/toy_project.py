"""Another project than this one: a sweep, a package with its settings, and a data set."""

from pathlib import Path

_MODEL = '''
"""Trains nothing, for as long as its settings say."""

import os
import time
from pathlib import Path

import yaml

from orchestrator import Demand, Trainable, both, knobs, maximize, systems
from orchestrator.data import PreparedData
from orchestrator.errors import DataError

SETTINGS = yaml.safe_load(Path(__file__).with_name("settings.yaml").read_text())


class Numbers:
    name, embedded, how_to_get = "numbers", False, "write numbers.txt"

    def at(self, variant):
        raise DataError(f"numbers has no variant {variant!r}")

    def present(self, folders):
        return (folders.root / "numbers.txt").is_file()

    def name_in(self, folders):
        return self.name

    def prepare(self, folders, *, download=False):
        if not self.present(folders):
            raise DataError(f"numbers is not under {folders.root}", self.how_to_get)
        text = (folders.root / "numbers.txt").read_text()
        return PreparedData(name=self.name, path=folders.root, fingerprint=text.strip())


@knobs
class Config:
    number: int = both(default=0, ge=0, doc="tells trials apart")
    nodes: int = systems(default=1, ge=1, doc="nodes, a process on each")


def waits(hold, number):
    if not hold.exists():
        return False
    numbers = hold.read_text().split()
    return not numbers or str(number) in numbers


def train(config, run):
    ended, shared = Path(SETTINGS["ended"]), [1.0]
    if config.nodes > 1:  # one node does without torch, whose import takes longer than this
        import torch

        shared = torch.ones(1)
        torch.distributed.init_process_group("gloo")
    for epoch in run.epochs():
        for _ in run.batches(range(SETTINGS["steps"]), samples=lambda _: 8):
            time.sleep(0.1)
            if config.nodes > 1:
                torch.distributed.all_reduce(shared.fill_(1.0))
        while waits(ended.with_suffix(".hold"), config.number):
            time.sleep(0.05)
        with ended.open("a") as file:
            file.write(f"{config.number} {os.uname().nodename}\\n")
        run.report(val_acc=0.5, together=float(shared[0]))
    if config.nodes > 1:
        torch.distributed.destroy_process_group()


trainable = Trainable(
    train, Config, data=[Numbers()], reports=[maximize("val_acc")], name="toy",
    preload=SETTINGS["preload"],
    demand=lambda config, _machine: Demand(ranks=config.nodes, nodes=config.nodes),
)
'''

_SWEEP = """
from mytoys.model import Config, trainable

from orchestrator import Isolation, Rigor, Sweep, choice

SWEEP = Sweep(
    trainable, question="Does each node train?",
    space=Config(number=choice(*range({num})), nodes={nodes}), baseline=Config(nodes={nodes}),
    cores_per_trial=1, rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
    isolation=Isolation.SHARED,
)
"""


def write_project(
    folder: Path, *, ended: Path, num_trials: int, steps: int, nodes: int = 1
) -> None:
    """Write the project, whose sweep file is ``toy_sweep.py``.

    Args:
        folder: A new folder.
        ended: File that each trial appends its number and its node to, when it has trained. No
            trial does while the same folder has an empty file with the suffix ``.hold``; if that
            file contains numbers, the trials with these numbers wait.
        num_trials: Configs of the sweep.
        steps: Steps of a trial, 0.1 s each.
        nodes: Nodes of a trial.
    """
    (folder / "mytoys").mkdir(parents=True)
    (folder / "mytoys/__init__.py").write_text("")
    (folder / "mytoys/model.py").write_text(_MODEL)
    (folder / "mytoys/settings.yaml").write_text(
        f"ended: {ended}\nsteps: {steps}\npreload: {['torch'] if nodes > 1 else []}\n"
    )
    (folder / "toy_sweep.py").write_text(_SWEEP.format(num=num_trials, nodes=nodes))

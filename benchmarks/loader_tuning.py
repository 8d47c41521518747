"""``orchestrator tune`` against loadtune (PyPI) on five scripts: answers, seconds, how often right.

The truth is a run of the script alone with each number of workers, in rounds. An answer is right
if the truth of its workers is within 3 % of the fastest. loadtune takes no script: for it the
same data, model and step are a workload, which is not counted. Run with loadtune installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from orchestrator.system.import_path import environment_with

PARTS = """\
import time
import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset


class Data(Dataset):
    def __len__(self):
        return 100_000

    def __getitem__(self, i):
        end = time.perf_counter() + {burn}
        image = np.full((3, 16, 16), i % 7, dtype=np.float32)
        while time.perf_counter() < end:
            image = np.roll(image, 1)
        time.sleep({sleep}) if {sleep} else None
        return torch.from_numpy(image), i % 10


def model():
    return nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 10))


def optimizer(net):
    return torch.optim.SGD(net.parameters(), lr=0.01)


def step(net, sgd, batch, device="cpu"):
    x, y = batch
    sgd.zero_grad()
    for _ in range({passes}):
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
    sgd.step()
    time.sleep({wait})
    return loss
"""
TRAIN = """\
import sys, time, torch
from torch.utils.data import DataLoader
from parts import Data, model, optimizer, step

if __name__ == "__main__":
    net = model()
    sgd = optimizer(net)
    loader = DataLoader(Data(), batch_size=16, shuffle=True)
    for number, batch in enumerate(loader):
        step(net, sgd, batch)
"""
TRUTH = """\
import sys, time
from torch.utils.data import DataLoader
from parts import Data, model, optimizer, step

net = model()
sgd = optimizer(net)
for number, batch in enumerate(DataLoader(Data(), batch_size=16, num_workers=int(sys.argv[1]))):
    if number == 20:
        began = time.perf_counter()
    if number > 60 and time.perf_counter() - began > 3:
        print(16 * (number - 20) / (time.perf_counter() - began))
        break
    step(net, sgd, batch)
"""
WORKLOAD = """\
from loadtune import Workload
import parts


def get_workload():
    return Workload(
        name="parts", make_dataset=parts.Data, make_model=parts.model,
        make_optimizer=parts.optimizer, train_step=parts.step, default_batch_size=16,
    )
"""
SCRIPTS: dict[str, dict[str, float]] = {
    "decodes, 1 ms an image; short step": {"burn": 0.001, "sleep": 0, "passes": 1, "wait": 0},
    "waits 2 ms for an image; step 10 ms": {"burn": 0, "sleep": 0.002, "passes": 1, "wait": 0.01},
    "light images; steps compute": {"burn": 0, "sleep": 0, "passes": 10, "wait": 0},
    "0.3 ms an image; step 45 ms": {"burn": 0, "sleep": 0.0003, "passes": 1, "wait": 0.045},
    "light images; short step": {"burn": 0, "sleep": 0, "passes": 1, "wait": 0},
}
WORKERS = (0, 1, 2, 4)


def run(folder: Path, *words: str) -> tuple[str, float]:
    """Return what a command prints, and its seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, text=True, check=False, stdout=subprocess.PIPE,
        env=environment_with(),
    )  # fmt: skip
    return done.stdout, time.monotonic() - began


def truth(folder: Path, rounds: int) -> dict[int, float]:
    """Return the speed with each number of workers, the median of the rounds."""
    speeds: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    for _ in range(rounds):
        for workers, its in speeds.items():
            its.append(float(run(folder, "truth.py", str(workers))[0]))
    return {workers: median(its) for workers, its in speeds.items()}


def ours(folder: Path) -> tuple[int, str, float]:
    """Return workers, claim and seconds of ``orchestrator tune``."""
    _, seconds = run(folder, "-m", "orchestrator", "tune", "--json", "ours.json", "train.py")
    about = json.loads((folder / "ours.json").read_text())
    if about["verdict"] != "faster":
        return 0, about["verdict"], seconds
    interval = f"{about['ratio']:.2f} ({about['low']:.2f} to {about['high']:.2f})"
    return about["settings"].get("num_workers", 0), interval, seconds


def peer(folder: Path) -> tuple[int, str, float]:
    """Return workers, claim and seconds of ``loadtune tune``."""
    words = ["-m", "loadtune.cli", "tune", "workload.py", "--save-raw", "peer.json"]
    _, seconds = run(folder, *words)
    raw = json.loads((folder / "peer.json").read_text())
    trials = [each for each in raw["trials"] if each["result"].get("throughput")]
    best = max(trials, key=lambda each: each["result"]["throughput"], default=None)
    if best is None or best["result"]["throughput"] <= raw["baseline"]["throughput"]:
        return 0, "as it is", seconds
    ratio = best["result"]["throughput"] / raw["baseline"]["throughput"]
    return best["knobs"]["num_workers"], f"{ratio:.2f}", seconds


def main() -> None:
    """Print a table: a row a script and a tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of the truth")
    options = parser.parse_args()
    print("| script | truth, by workers | tool | workers | claim | true | right | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, values in SCRIPTS.items():
        with TemporaryDirectory() as scratch:
            folder, parts = Path(scratch), PARTS
            for key, value in values.items():
                parts = parts.replace(f"{{{key}}}", str(value))
            texts = {"parts": parts, "train": TRAIN, "truth": TRUTH, "workload": WORKLOAD}
            for stem, text in texts.items():
                (folder / f"{stem}.py").write_text(text)
            speeds = truth(folder, options.rounds)
            shown = ", ".join(f"{n}: {speed / speeds[0]:.2f}" for n, speed in speeds.items())
            for tool, answer in (("ours", ours), ("loadtune", peer)):
                workers, claim, seconds = answer(folder)
                true = speeds.get(workers, 0.0)
                right = "yes" if true >= 0.97 * max(speeds.values()) else "no"
                print(
                    f"| {name} | {shown} | {tool} | {workers} | {claim} | "
                    f"{true / speeds[0]:.2f} | {right} | {seconds:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

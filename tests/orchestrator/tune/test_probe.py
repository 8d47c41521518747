"""Tests for ``orchestrator.tune.probe``: a process of a script, without the command around it."""

import pickle
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from orchestrator.tune.plan import Explore, Setting, Work
from tests.conftest import RunCli

Probed = Callable[..., Work]

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


@pytest.fixture
def probed(run_cli: RunCli, tmp_path: Path) -> Probed:
    """Probe a script: ``probed(Setting(num_workers=2), loop="for x in ...")``."""

    def probe(
        checked: Setting | None = None,
        *,
        in_main: bool = False,
        loader: int | None = None,
        length: int = 100_000,
        loop: str = "",
        sizes: Sequence[int] = (),
    ) -> Work:
        text = script(length, in_main=in_main)
        text = text.partition("for x in DataLoader(\n")[0] + loop if loop else text
        (tmp_path / "train.py").write_text(text)
        work = Work(
            checked=checked, loader=loader, began_s=time.monotonic(),
            until_s=time.monotonic() + 250, slice_s=0.01, num_cores=1, batch_sizes=sizes,
        )  # fmt: skip
        (tmp_path / "task").write_bytes(pickle.dumps(work))
        run_cli("task", "train.py", module="orchestrator.tune.probe", code=None)
        found = pickle.loads((tmp_path / "task").read_bytes())
        assert isinstance(found, Work)
        return found

    return probe


def explored(found: Work) -> Explore:
    assert isinstance(found.plan, Explore)
    return found.plan


def test_settings_take_turns_on_the_loader_that_optimizer_steps_follow(probed: Probed) -> None:
    found = probed()

    sites = [site and (Path(site.file).name, site.line) for site in found.sites]
    assert (found.loader, sites) == (1, [("train.py", 17), ("train.py", 18)])
    assert (explored(found).own, found.batches, found.turn) == (
        Setting(num_workers=0),
        50_000,
        None,
    )
    assert {each.setting.num_workers for each in explored(found).slices} == {0, 1, 2}
    assert all(
        each.samples_per_s > 0 and 0 < each.wait_share < 1 for each in explored(found).slices
    )


STEP = "        (x * weight).sum().backward()\n        optimizer.step()\n"
ANEW = f"""\
for epoch in range(10_000):
    loader = DataLoader(Data(), batch_size=2)
    for x in loader:
{STEP}"""
BREAKS = f"""\
loader = DataLoader(Data(), batch_size=2, shuffle=True)
for epoch in range(10_000):
    for number, x in enumerate(loader):
        if number == 5:
            break
{STEP}"""


@pytest.mark.parametrize(
    ("loop", "length"),
    [(ANEW, 50), (ANEW, 1000), (ANEW, 2), (BREAKS, 50), (BREAKS, 100_000)],
    ids=["made anew", "made anew, long", "one step an epoch", "left early", "left early, long"],
)
def test_settings_take_turns_whatever_the_epochs(probed: Probed, loop: str, length: int) -> None:
    found = probed(loop=loop, length=length)

    assert (found.loader, found.turn, found.error) == (1, None, "")
    assert len(found.sites) == 2
    assert {each.setting.num_workers for each in explored(found).slices} == {0, 1, 2}
    assert all(0 < each.wait_share < 1 for each in explored(found).slices)


ONES = f"""\
for epoch in range(10_000):
    for x in DataLoader(Data(), {{}}):
        assert len(x) in (2, 3)
{STEP}"""


def test_other_batch_sizes_drop_the_last_one_too(probed: Probed) -> None:
    loop = ONES.format("batch_size=2, drop_last=True")

    found = probed(loop=loop, length=31, sizes=[3])

    assert (found.error, explored(found).failed) == ("", {})
    assert {each.setting.batch_size for each in explored(found).slices} == {None, 3}


@pytest.mark.parametrize(
    "arguments", ["batch_size=None", "batch_sampler=[[i, i + 1] for i in range(0, 98, 2)]"]
)
def test_a_loader_without_a_batch_size_is_tried_too(probed: Probed, arguments: str) -> None:
    loop = ONES.format(arguments).replace("(2, 3)", "(1, 2)")

    tried = {each.setting.num_workers for each in explored(probed(loop=loop)).slices}
    assert tried == {0, 1, 2}


def test_a_size_for_a_loader_without_one_is_an_error(probed: Probed) -> None:
    loop = ONES.format("batch_size=None").replace("(2, 3)", "(1, 2)")
    assert "no batch size" in probed(loop=loop, sizes=[3]).error


STREAM = f"""\
from torch.utils.data import IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        return iter([torch.ones(1)] * 99)


for x in DataLoader(Stream(), batch_size=4):
{STEP.replace("        ", "    ")}"""


@pytest.mark.parametrize(
    ("loop", "error"),
    [
        ("pass", "ended without three optimizer steps on batches of a torch"),
        (STREAM, "IterableDataset"),
    ],
    ids=["no loader", "a stream"],
)
def test_a_script_that_does_not_fit_is_named(probed: Probed, loop: str, error: str) -> None:
    assert error in probed(loop=loop).error


def test_settings_that_do_not_run_are_left_out_with_their_reason(probed: Probed) -> None:
    found = probed(in_main=True)

    assert {each.num_workers for each in explored(found).failed} == {1, 2}
    assert all(why.startswith("OSError: Caught OSError") for why in explored(found).failed.values())
    assert explored(found).best() == explored(found).own


def test_the_first_batches_are_those_of_the_script_whatever_the_setting(
    probed: Probed, run_cli: RunCli, tmp_path: Path
) -> None:
    seeded = "import random, torch; random.seed(0); torch.manual_seed(0)\n"
    text = script(16).replace("optimizer.step()", "print(x.sum().item())")
    (tmp_path / "plain.py").write_text(f"{seeded}{text}")
    plain = run_cli(module="plain")

    learned = [
        probed(Setting(num_workers=workers), loader=1, length=16).learned for workers in (0, 2)
    ]

    assert learned[0][2] == [float(line) for line in plain.stdout.splitlines()]
    assert learned[0] == learned[1]
    assert [len(each) for each in learned[0]] == [8, 8, 8]

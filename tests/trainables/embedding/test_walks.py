import os
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.leaks import children as all_children
from tests.trainables.embedding.stores import random_edges, store_folder
from trainables.embedding import walks
from trainables.embedding.link_split import LinkSplit
from trainables.embedding.processes import shared_out
from trainables.embedding.walks import WalkPlan, cached_walks, draw_walks

PLAN = WalkPlan(length=6, per_node=3, seed=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    # Nodes 60 to 69 have no edge.
    return store_folder(tmp_path, random_edges(60, 400), 70)


@pytest.fixture
def split(folder: Path) -> LinkSplit:
    return LinkSplit.of(folder, "all")


def test_every_step_goes_along_an_edge(split: LinkSplit, tmp_path: Path) -> None:
    draw_walks(tmp_path / "walks.npy", split, PLAN, 1)
    drawn = np.load(tmp_path / "walks.npy")
    linked = set(np.flatnonzero(np.diff(split.indptr)).tolist())
    assert drawn.shape == (3 * len(linked), 6)
    assert drawn.dtype == np.int32
    starts, counts = np.unique(drawn[:, 0], return_counts=True)
    assert set(starts.tolist()) == linked
    assert set(counts) == {3}
    for before, after in zip(drawn[:, :-1].ravel(), drawn[:, 1:].ravel(), strict=True):
        assert after in split.indices[split.indptr[before] : split.indptr[before + 1]]


def test_every_neighbour_is_as_likely_as_the_others(tmp_path: Path) -> None:
    star = np.stack([np.zeros(60, dtype=np.int64), np.arange(1, 61)], axis=1)
    split = LinkSplit.of(store_folder(tmp_path, star, 61), "all")
    draw_walks(tmp_path / "walks.npy", split, WalkPlan(length=2, per_node=2000, seed=0), 1)
    drawn = np.load(tmp_path / "walks.npy")
    counts = np.bincount(drawn[drawn[:, 0] == 0, 1], minlength=61)[1:]
    reached = counts[counts > 0]
    assert len(reached) == 51  # nine are held out
    expected = 2000 / 51
    chi_square = float(((reached - expected) ** 2 / expected).sum())
    assert chi_square < 50 + 4 * np.sqrt(2 * 50)


def test_the_same_walks_come_from_any_number_of_processes(
    split: LinkSplit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks, "STARTS_A_TASK", 7)  # 27 tasks
    drawn = []
    for num_processes in (1, 2, 3):
        file = tmp_path / f"{num_processes}.npy"
        facts = draw_walks(file, split, PLAN, num_processes)
        assert facts["processes"] == num_processes
        drawn.append(np.load(file))
    assert np.array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[0], drawn[2])


def test_walks_are_drawn_once(
    folder: Path, split: LinkSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cached_walks(folder, "all", split, PLAN, 1)

    def refuse(*_: object) -> None:
        raise AssertionError("drawn again")

    monkeypatch.setattr(walks, "draw_walks", refuse)
    assert np.array_equal(cached_walks(folder, "all", split, PLAN, 1), made)
    with pytest.raises(AssertionError, match="drawn again"):
        cached_walks(folder, "all", split, WalkPlan(length=7, per_node=3, seed=5), 1)


@pytest.fixture
def before() -> set[psutil.Process]:
    """Return the processes that earlier tests have left running."""
    return set(all_children())


def note(folder: Path, task: int) -> None:
    (folder / f"{task}").write_text(str(os.getpid()))


def test_every_task_is_done_once_in_separate_processes(
    tmp_path: Path, before: set[psutil.Process]
) -> None:
    def work(task: int) -> None:
        assert not (tmp_path / f"{task}").exists()
        note(tmp_path, task)

    assert shared_out(work, range(9), 3) == 3
    done = {int(path.name): int(path.read_text()) for path in tmp_path.iterdir()}
    assert set(done) == set(range(9))
    assert len(set(done.values())) == 3
    assert os.getpid() not in done.values()
    assert set(all_children()) <= before


def test_a_failure_ends_the_others_and_is_reported(
    capfd: pytest.CaptureFixture[str], before: set[psutil.Process]
) -> None:
    def work(task: int) -> None:
        if task == 0:
            raise OSError("no room left")

    with pytest.raises(RuntimeError, match="part-0 ended with 1"):
        shared_out(work, range(2), 2)
    assert "no room left" in capfd.readouterr().err
    assert set(all_children()) <= before

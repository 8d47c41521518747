import multiprocessing
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from trainables.data.formats.arrays import map_array
from trainables.data.formats.conversion import MANIFEST, Conversion, signature_of


def conversion(signature: str = "s1") -> Conversion:
    return Conversion(name="n", kind="graph", source="x", key="n-v1", signature=signature)


def build(folder: Path) -> Mapping[str, int]:
    """Write a mark next to the cache each time, and take a while."""
    (folder.parents[3] / f"built-{os.getpid()}").touch()
    time.sleep(0.2)
    np.save(folder / "a.npy", np.arange(3))
    return {"rows": 3}


def prepare(cache: Path) -> None:
    conversion().prepare(cache, build)


def test_is_built_once_however_many_ask(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=prepare, args=(cache,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(list(tmp_path.glob("built-*"))) == 1
    data = conversion().prepare(cache, build)
    assert len(list(tmp_path.glob("built-*"))) == 1
    assert (data.name, data.facts) == ("n", {"rows": 3})
    assert map_array(data.path / "a.npy").tolist() == [0, 1, 2]


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> Mapping[str, int]:
        np.save(folder / "a.npy", np.arange(3))
        raise DataError("bad")

    with pytest.raises(DataError, match="bad"):
        conversion().prepare(tmp_path / "cache", fail)
    assert [p.name for p in conversion().folder(tmp_path / "cache").parent.iterdir()] == ["lock"]


@pytest.mark.parametrize("damage", ["removed", "shortened", "no manifest", "empty manifest"])
def test_a_damaged_one_is_built_again(tmp_path: Path, damage: str) -> None:
    cache = tmp_path / "cache"
    first = conversion().prepare(cache, build)
    array, manifest = first.path / "a.npy", first.path / MANIFEST
    match damage:
        case "removed":
            array.unlink()
        case "shortened":
            array.write_bytes(array.read_bytes()[:-1])
        case "no manifest":
            manifest.unlink()
        case "empty manifest":
            manifest.write_text("")

    second = conversion().prepare(cache, build)

    assert second == first
    assert map_array(array).tolist() == [0, 1, 2]


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(DataError, match=r"n cannot be converted: .*cache.*") as error:
        conversion().prepare(tmp_path / "cache", build)
    assert "SWEEP_CACHE" in error.value.hint


def test_a_signature_depends_on_size_time_and_absence(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("1")
    seen = {signature_of(tmp_path, [a, b], version=1), signature_of(tmp_path, [a, b], version=2)}
    a.write_text("12")
    seen.add(signature_of(tmp_path, [a, b], version=1))
    os.utime(a, (0, 0))
    seen.add(signature_of(tmp_path, [a, b], version=1))
    b.touch()
    seen.add(signature_of(tmp_path, [a, b], version=1))
    assert len(seen) == 5

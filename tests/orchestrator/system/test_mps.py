"""MPS for trials that share a GPU, with a control program that is a script."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from orchestrator.errors import SweepError
from orchestrator.kernel.executor import Rank
from orchestrator.system import gpus
from tests.orchestrator.helpers.made_nvml import Gpu, MadeNvml


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of NVIDIA's name, which may be rewritten."""
    for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    script = tmp_path / "bin" / gpus.CONTROL
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho "$@" > "$CUDA_MPS_PIPE_DIRECTORY/words"\nexec sleep 60\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")
    return script


def test_it_runs_in_the_drivers_folder_until_the_driver_ends(
    control: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_the_end = []
    monkeypatch.setattr("atexit.register", at_the_end.append)
    gpus.start_mps(tmp_path)
    assert (tmp_path / "mps/words").read_text() == "-f\n"
    assert os.environ["CUDA_MPS_PIPE_DIRECTORY"] == str(tmp_path / "mps")
    gpus.start_mps(tmp_path)  # it runs
    [started] = [each for each in psutil.Process().children() if each.name() == "sleep"]
    (end,) = at_the_end
    end()
    started.wait(timeout=10)


def test_one_that_does_not_start_is_one_sentence(control: Path, tmp_path: Path) -> None:
    control.write_text("#!/bin/sh\necho 'An instance of this daemon is already running'\nexit 1\n")
    with pytest.raises(SweepError, match="does not start: An instance of this daemon") as error:
        gpus.start_mps(tmp_path)
    assert "CUDA_MPS_PIPE_DIRECTORY" in error.value.hint
    assert gpus.has_mps()


def test_a_rank_has_its_part_of_the_processors_and_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(Gpu(uuid="GPU-a", total=80 * 2**30)))
    own = Rank(gpus=("GPU-a",), part=0.25).environment()
    assert own["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "25"
    assert own["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == "0=20480M"
    assert not [name for name in Rank(gpus=("GPU-a",)).environment() if "MPS" in name]

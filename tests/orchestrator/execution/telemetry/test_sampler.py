"""Samples of this very process, at times that the test sets."""

import os
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory, mkdtemp
from types import SimpleNamespace

import pytest

from orchestrator.execution.telemetry import sampler
from orchestrator.execution.telemetry.contamination import SHARE
from orchestrator.execution.telemetry.gpu_sampler import GpuSampler
from orchestrator.execution.telemetry.sampler import PERIOD_S, PackageEnergy, Telemetry
from orchestrator.execution.telemetry.shared_memory import SHARED_MEMORY, SharedFiles
from orchestrator.system.gpus import visible_gpus
from orchestrator.system.processes import ProcessTree, TreeSample
from tests.orchestrator.helpers.made_nvml import Gpu, MadeNvml

PIDS = [os.getpid()]


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The monotonic clock, to be set."""
    now = SimpleNamespace(s=100.0)
    monkeypatch.setattr(sampler, "time", SimpleNamespace(monotonic=lambda: now.s))
    return now


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Busy time of the trial's core and CPU time of its process, to be set."""
    counters = SimpleNamespace(busy=0.0, own=0.0)

    def read(_tree: ProcessTree, pids: list[int]) -> TreeSample:
        return TreeSample(pids=tuple(pids), cpu_s=counters.own, waited_s=0.0)

    monkeypatch.setattr(ProcessTree, "read", read)
    monkeypatch.setattr(
        sampler, "read_core_times", lambda _: {"busy": counters.busy, "nice": 0.0, "stolen": 0.0}
    )
    return counters


def test_samples_once_a_period_however_often_it_is_asked(now: SimpleNamespace) -> None:
    telemetry = Telemetry()
    taken = 0
    for _ in range(100):
        taken += telemetry.sample(PIDS) is not None
        now.s += PERIOD_S / 10
    assert taken == 10


def test_files_in_shared_memory_are_counted_and_removed_unless_they_are_others() -> None:
    def made(folder: str | Path = SHARED_MEMORY) -> Path:
        opened = NamedTemporaryFile(dir=folder, delete=False)  # noqa: SIM115
        return Path(stack.enter_context(opened).name)

    with ExitStack() as stack, TemporaryDirectory(dir=SHARED_MEMORY) as before:
        others, shared = made(before), SharedFiles()
        folder = Path(mkdtemp(dir=SHARED_MEMORY), "in")
        folder.mkdir()
        shared.read(PIDS)
        own = [made(), made(folder), made(folder.parent)]
        for path in own:
            path.write_bytes(bytes(2**20))
        others_since = [made(before), folder.parent / "of another, that no process here has open"]
        others_since[1].touch()
        shared.read(PIDS)
        assert shared.num_bytes == 3 * 2**20
        shared.remove()
        left = [path for path in (others, *own, folder, *others_since) if path.exists()]
        assert left == [others, *others_since]
        shutil.rmtree(folder.parent)


def test_figures_are_of_the_time_between_samples(
    now: SimpleNamespace, counters: SimpleNamespace
) -> None:
    telemetry = Telemetry(cores=[0])
    telemetry.sample(PIDS)
    now.s, counters.own, counters.busy = 110.0, 9.0, 10.0
    telemetry.sample(PIDS)
    assert telemetry.figures()["busy_cores"] == pytest.approx(0.9)
    assert telemetry.figures()["foreign_share"] == pytest.approx(0.1)
    assert telemetry.tags() == {"contaminated": "10 % of its cores' time went to other processes"}


def test_time_while_paused_does_not_count(now: SimpleNamespace, counters: SimpleNamespace) -> None:
    telemetry = Telemetry(cores=[0])
    telemetry.sample(PIDS)
    now.s, counters.own, counters.busy = 101.0, 1.0, 1.0
    telemetry.pause(PIDS)
    now.s, counters.busy = 111.0, 11.0
    telemetry.sample(PIDS)
    now.s, counters.own, counters.busy = 112.0, 2.0, 12.0
    telemetry.sample(PIDS)
    assert telemetry.figures()["busy_cores"] == pytest.approx(1.0)
    assert telemetry.tags()["contaminated"] == "false"


def test_overhead_of_the_sweep_is_no_contamination(
    now: SimpleNamespace, counters: SimpleNamespace
) -> None:
    telemetry = Telemetry(cores=[0], overhead_s=lambda: counters.busy - counters.own)
    telemetry.sample(PIDS)
    now.s, counters.own, counters.busy = 110.0, 7.0, 10.0
    telemetry.sample(PIDS)
    assert telemetry.tags()["contaminated"] == "false"


def test_others_leases_are_counted_from_the_second_period_on(now: SimpleNamespace) -> None:
    counts = [2, 4]
    telemetry = Telemetry(num_others=lambda: counts.pop(0))
    telemetry.sample(PIDS)
    assert "others_cores" not in telemetry.figures(), "a short trial is not made longer by it"
    for _ in range(2):
        now.s += PERIOD_S
        telemetry.sample(PIDS)
    assert telemetry.figures()["others_cores"] == 3


def test_kills_before_the_attempt_are_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    kills = [3]
    monkeypatch.setattr("orchestrator.system.cgroup.Cgroups.memory_kills", lambda _: kills[0])
    telemetry = Telemetry()
    assert not telemetry.out_of_memory()
    kills[0] = 4
    assert telemetry.out_of_memory()


def test_another_process_on_the_gpu_contaminates(
    monkeypatch: pytest.MonkeyPatch, now: SimpleNamespace
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(Gpu(pids=[[os.getpid(), 200]])))
    telemetry = Telemetry(gpus=["GPU-aaaa"])
    for _ in range(2):
        telemetry.sample(PIDS)
        now.s += PERIOD_S
    assert telemetry.tags()["contaminated"] == "another process was on GPU-aaaa 100 % of the time"


# -- energy, from counters as Linux shows them


def package(root: Path, name: str, energy_uj: int) -> None:
    zone = root / name
    zone.mkdir(exist_ok=True)
    (zone / "energy_uj").write_text(f"{energy_uj}\n")
    (zone / "max_energy_range_uj").write_text("9999999\n")


def test_packages_are_summed_without_their_parts_and_may_begin_anew(tmp_path: Path) -> None:
    package(tmp_path, "intel-rapl:0", 1_000_000)
    package(tmp_path, "intel-rapl:1", 9_000_000)
    package(tmp_path, "intel-rapl:0:0", 0)
    energy = PackageEnergy(tmp_path)
    assert energy.read() == 0.0
    package(tmp_path, "intel-rapl:0", 3_000_000)
    package(tmp_path, "intel-rapl:1", 1_000_000)
    package(tmp_path, "intel-rapl:0:0", 900_000)
    assert energy.read() == 4.0


def test_energy_is_absent_without_a_counter_and_in_a_gap(
    tmp_path: Path, now: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PackageEnergy(tmp_path / "absent").read() is None
    readings = iter([0.0, 1.0, 8.0, 9.0])
    monkeypatch.setattr(PackageEnergy, "read", lambda _: next(readings))
    telemetry = Telemetry()
    for act in (telemetry.sample, telemetry.pause, telemetry.sample, telemetry.sample):
        act(PIDS)
        now.s += PERIOD_S
    assert telemetry.figures()["energy_j"] == 2.0


# -- GPUs of a made-up NVML; a real one where there is a GPU


OWN, OTHER = 100, 200


def sampled(
    monkeypatch: pytest.MonkeyPatch, *gpus: Gpu, num_samples: int = 4, broken: str = ""
) -> GpuSampler:
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(*gpus, broken=broken))
    made = GpuSampler([gpu.uuid for gpu in gpus] or ["GPU-aaaa"])
    for _ in range(num_samples):
        made.sample([OWN])
    return made


def test_trials_that_share_a_gpu_have_no_figure_of_each_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    energy_mj = [1_000_000, 1_100_000, 9_000_000, 9_200_000]
    monkeypatch.setitem(sys.modules, "pynvml", MadeNvml(Gpu(energy_mj=energy_mj, pids=[[OTHER]])))
    interleaved = GpuSampler(["GPU-aaaa"], by_turns=True)
    for is_pause in (False, True, False, False):
        interleaved.sample([OWN])
        if is_pause:
            interleaved.skip()
    assert interleaved.figures()["gpu_energy_j"] == 300.0
    assert "gpu_memory_gib" not in interleaved.figures()
    assert interleaved.findings(SHARE) is None
    shared = GpuSampler(["GPU-aaaa"], are_shared=True)
    shared.sample([OWN])
    assert set(shared.figures()) == {"gpu_clock_mhz", "gpu_slowed_share"}


def test_figures_and_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(
        util=[20, 40, 60, 80],
        energy_mj=[5_000_000, 5_100_000, 5_200_000, 5_450_000],
        reasons=[0, 0x4, 0x4 | 0x40, 0],
        pids=[[OWN]],
    )
    sampler = sampled(monkeypatch, gpu)
    assert sampler.figures() == {
        "gpu_util": 0.5,
        "gpu_memory_gib": 1.0,
        "gpu_power_w": 200.0,
        "gpu_clock_mhz": 1700.0,
        "gpu_energy_j": 450.0,
        "gpu_slowed_share": 0.5,
    }
    assert sampler.tags() == {
        "gpus": "GPU-aaaa",
        "gpu_settings": "driver 580.65.06, power limit 700 W",
        "throttled": "power cap 50 %, thermal 25 %",
    }
    assert sampler.findings(SHARE) == []
    assert sampler.device == "Made-up GPU"


def test_a_figure_that_a_device_lacks_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    lacks = frozenset({"energy", "power", "reasons", "processes", "limit"})
    sampler = sampled(monkeypatch, Gpu(unsupported=lacks))
    assert set(sampler.figures()) == {"gpu_util", "gpu_memory_gib", "gpu_clock_mhz"}
    assert sampler.tags() == {"gpus": "GPU-aaaa", "gpu_settings": "driver 580.65.06"}
    assert sampler.findings(SHARE) is None


def test_two_gpus_are_summed_and_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    gpus = (Gpu(util=[100], power_mw=300_000), Gpu(uuid="GPU-bbbb", util=[50], power_mw=100_000))
    sampler = sampled(monkeypatch, *gpus)
    figures = sampler.figures()
    assert (figures["gpu_util"], figures["gpu_power_w"]) == (0.75, 400.0)
    assert (figures["gpu_util_0"], figures["gpu_util_1"]) == (1.0, 0.5)
    assert sampler.tags()["gpus"] == "GPU-aaaa,GPU-bbbb"


@pytest.mark.parametrize(
    ("pids", "expected"),
    [
        pytest.param([[OWN]], [], id="its own"),
        pytest.param([[], [OWN]], [], id="its own, later"),
        pytest.param([[OWN, OTHER]], ["100 % of the time"], id="another"),
        pytest.param([[OWN], [OWN, OTHER], [OWN, OTHER], [OWN]], ["50 % of the time"], id="half"),
        pytest.param([[OWN, OTHER], [OWN]], [], id="another, for a moment"),
        pytest.param([[31337]], [], id="its own, numbered as the host does"),
        pytest.param([[31337, 31338]], ["100 % of the time"], id="another, numbered so"),
    ],
)
def test_another_process_on_the_gpu_is_found(
    monkeypatch: pytest.MonkeyPatch, pids: list[list[int]], expected: list[str]
) -> None:
    texts = sampled(monkeypatch, Gpu(pids=pids)).findings(SHARE)
    for text, end in zip(texts, expected, strict=True):
        assert text.startswith("another process was on GPU-aaaa")
        assert text.endswith(end)


def test_without_nvml_figures_are_absent_and_the_device_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sampler = sampled(monkeypatch, broken="NVML Shared Library Not Found")
    assert sampler.figures() == {}
    assert sampler.tags() == {}
    assert sampler.device == "GPU GPU-aaaa"


@pytest.mark.gpu
def test_a_real_gpu_is_read() -> None:
    pytest.importorskip("pynvml")
    sampler = GpuSampler([gpu.uuid for gpu in visible_gpus()])
    for _ in range(2):
        sampler.sample([])
    assert 0 <= sampler.figures()["gpu_util"] <= 1
    assert sampler.tags()["gpus"].startswith(("GPU-", "MIG-"))

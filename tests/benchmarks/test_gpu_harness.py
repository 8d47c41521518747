import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.gpu.__main__ import main
from benchmarks.gpu.generated import generated_images
from benchmarks.gpu.measure import Outcome, Work, in_fresh_process
from benchmarks.gpu.needs import missing, unpack_wheels
from benchmarks.gpu.page import page
from benchmarks.gpu.studies import STUDIES, Scale, Study
from benchmarks.gpu.tests import files_with_gpu_tests, tallies
from orchestrator import Machine, Node
from tests.conftest import ROOT
from tests.helping import ran

WITH_GPU = Machine(nodes=(Node(name="there", cpus=16, gpus=1),))
EVERY_STUDY = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)


@pytest.fixture(scope="module")
def image_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cache with generated images in it, which take a second to make."""
    cache = tmp_path_factory.mktemp("cache")
    generated_images(cache)
    return cache


@pytest.fixture(autouse=True)
def _cached_images(image_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_CACHE", str(image_cache))


@EVERY_STUDY
@pytest.mark.parametrize("scale", Scale)
def test_every_setting_can_run_with_a_gpu_unless_declared_otherwise(
    study: Study, scale: Scale
) -> None:
    for position, setting in enumerate(study.settings):
        config = study.config(setting, scale)
        for name, value in setting.items():
            assert getattr(config, name) == value, f"{name} means nothing in {setting}"
        reason = study.infeasible(config, WITH_GPU)
        assert (reason is not None) == (position in study.elsewhere), f"{setting}: {reason}"


@pytest.mark.slow
def test_without_a_gpu_it_prints_one_line() -> None:
    finished = ran(
        "bash", ROOT / "benchmarks/gpu/run.sh",
        variables={"PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": ""}, code=2,
    )  # fmt: skip
    [line] = finished.stderr.splitlines()
    assert line.startswith("no GPU here: torch")
    assert finished.stdout == ""


def without(*names: str) -> Callable[[str], str | None]:
    """Return a stand-in for ``find_spec`` where these packages are not installed."""
    return lambda name: None if name in names else name


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.gpu.needs.find_spec", without("dgl", "pytest"))
    assert missing(device="cpu") == "missing here: dgl; --wheels DIR brings packages along"


@pytest.mark.parametrize("arguments", [[], ["--no-tests"]], ids=str)
def test_without_what_the_tests_need_the_studies_are_run_all_the_same(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.gpu.needs.find_spec", without("pytest", "sklearn"))
    trained: list[Work] = []
    monkeypatch.setattr(
        "benchmarks.gpu.measure.in_fresh_process",
        lambda work, _: trained.append(work) or Outcome(state="completed"),
    )
    code = main([*arguments, "--device", "cpu", "--repeats", "1"])
    printed = capsys.readouterr()
    assert {work.study for work in trained} == {study.name for study in STUDIES}
    line = "the tests are left out, missing here: pytest (with pluggy, iniconfig, packaging), "
    assert (f"- {line}scikit-learn" in printed.out) == (code == 2) == (arguments == [])
    assert (line in printed.err) == (code == 2)
    assert "`mlp` on generated images in MNIST's layout" in printed.out


@pytest.mark.parametrize(
    ("study", "device", "state", "code"),
    [
        ("graphsage", "cuda", "completed", 0),
        ("graphsage", "cuda", "infeasible", 1),
        ("graphsage", "cuda", "failed", 1),
        ("graphsage", "cpu", "infeasible", 0),  # it needs a GPU
        ("graphsage", "cpu", "failed", 1),
    ],
)
def test_it_succeeds_if_every_setting_for_a_gpu_was_completed(
    study: str, device: str, state: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.gpu.__main__.missing", lambda **_: None)
    monkeypatch.setattr(
        "benchmarks.gpu.measure.in_fresh_process", lambda *_: Outcome(state=state, reason=state)
    )
    arguments = ["--only", study, "--device", device, "--no-tests", "--repeats", "1"]
    assert main(arguments) == code


def test_wheels_are_unpacked_without_pip(tmp_path: Path) -> None:
    wheels, folder = tmp_path / "wheels", tmp_path / "unpacked"
    wheels.mkdir()
    with pytest.raises(FileNotFoundError, match="no wheels in"):
        unpack_wheels(wheels, folder)
    with zipfile.ZipFile(wheels / "one-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("one/__init__.py", "")
        wheel.writestr("one-1.data/purelib/two/__init__.py", "")
    assert unpack_wheels(wheels, folder) == ["one-1-py3-none-any.whl"]
    assert (folder / "one/__init__.py").exists()
    assert (folder / "two/__init__.py").exists()


COLLECTED = """
import sys
sys.modules.update(dict.fromkeys(("hypothesis", "mlflow", "optuna", "pynvml", "ray"), None))
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_gpu_tests_need_only_the_declared_packages() -> None:
    finished = ran(
        *(sys.executable, "-c", COLLECTED, "-c", ROOT / "benchmarks/gpu/pytest.ini"),
        *(f"--rootdir={ROOT}", "-p", "benchmarks.gpu.stand_in", "-m", "gpu", "-q"),
        *("--collect-only", *files_with_gpu_tests()), cwd=ROOT,
        variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    assert "test_a_systems_knob_changes_nothing_on_a_gpu" in finished.stdout


REPORT = """<testsuites><testsuite>
<testcase classname="tests.trainables.test_mlp" name="test_a" />
<testcase classname="tests.trainables.test_mlp" name="test_b[cuda]">
  <failure message="assert 1 == 2&#10;more" />
</testcase>
<testcase classname="tests.trainables.test_mlp" name="test_c"><skipped message="no" /></testcase>
</testsuite></testsuites>"""


def test_what_became_of_tests_is_read_from_pytest_s_report() -> None:
    [(file, tally)] = tallies(REPORT).items()
    assert file == "trainables/test_mlp.py"
    assert tally.counts == {"passed": 1, "failed": 1, "skipped": 1}
    assert tally.failures == ["test_b[cuda]: assert 1 == 2"]


@pytest.mark.slow
def test_a_setting_is_measured_in_a_separate_process() -> None:
    """The dry run of all studies on a CPU: run.sh --device cpu --scale tiny --repeats 1."""
    graphsage = next(study for study in STUDIES if study.name == "graphsage")
    rows = {}
    for setting in (0, 3):
        work = Work(
            study="graphsage", setting=setting, scale=Scale.TINY, device="cpu", data_root="data"
        )
        rows["graphsage", setting] = [in_fresh_process(work, "tuned")]
    [done], [infeasible] = rows.values()
    assert done.state == "completed", done.reason
    assert done.metrics["samples_per_s"] > 0
    assert infeasible == Outcome(state="infeasible", reason="feature_placement=pinned needs a GPU")
    text = "\n".join(page([graphsage], rows, {}, scale=Scale.TINY, images="mnist"))
    [first] = [line for line in text.splitlines() if line.startswith("| device=cpu |")]
    assert " 1.00 to 1.00 " in first
    assert "| feature_placement=pinned | infeasible: feature_placement=pinned needs a GPU |" in text

"""Bad requests: one clear message, what is allowed, exit code 2, nothing started."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, RunCli
from tests.forking import Finished
from tests.helping import check_help, python
from tests.orchestrator.driver.never import SWEEP, write_never
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.without_privileges import CANNOT
from tests.orchestrator.tracking.journals import make_record


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_never(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text(SWEEP.replace("choice(0.1, 0.2)", "choise(0.1, 0.2)"))
    (tmp_path / "unnamed.py").write_text(SWEEP.replace("SWEEP =", "sweep ="))
    (tmp_path / "hollow.py").write_text(SWEEP.replace("choice(0.1, 0.2)", "choice()"))
    (tmp_path / "misspelt.py").write_text(SWEEP.replace("lr=choice(0.1, 0.2)", "lrr=0.1"))
    (tmp_path / "mistyped.py").write_text(SWEEP.replace("choice(0.1, 0.2)", "'0.1'"))
    (tmp_path / "barred.py").write_text(
        SWEEP.replace('question="?"', 'question="?", constraints=[lambda *_: "not today"]')
    )
    for name, own in (
        ("raising", "constraints=[lambda c, m: {}[c.lr]]"),
        ("demanding", "demand=lambda c, m: 1 // 0"),
        ("unequipped", "preload=['torch', 'turch.nn']"),
    ):
        text = SWEEP.replace('name="never"', f'name="never", {own}')
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "empty").mkdir()
    return tmp_path


def test_a_module_that_parses_on_import_gets_none_of_our_arguments(
    folder: Path, run_cli: RunCli
) -> None:
    (folder / "opts.py").write_text("import sys\nassert not sys.argv[1:]\n")
    (folder / "parsing.py").write_text(f"import opts\n{SWEEP}")
    run_cli("parsing.py", "--plan")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["no sweep file given", "--help"]),
        (["nevr.py"], ["nevr.py: no such file", "did you mean 'never.py'?"]),
        (["broken.py"], ["broken.py:16", "choise(0.1, 0.2)", "'choise' is not defined"]),
        (["unnamed.py"], ["unnamed.py", "no SWEEP"]),
        (["hollow.py"], ["hollow.py:16", "choice() of no values", "a float > 0"]),
        (["barred.py", "--plan"], ["constraints exclude all of the 2 configs", "not today"]),
        (["never.py", "--set", "lr=0.2", "lr=0.1"], ["--set lr=0.1", "also set to 0.2"]),
        (["misspelt.py"], ["misspelt.py:16", "'lrr' is not a knob", "did you mean 'lr'?"]),
        (["mistyped.py"], ["mistyped.py:16", "Config.lr = '0.1' is not allowed", "a float > 0"]),
        (["never.py", "--search", "randm"], ["--search", "did you mean 'random'?", "sobol"]),
        (["never.py", "--num-samples", "9"], ["--num-samples", "did you mean '--trials'?"]),
        (["trian", "empty"], ["trian: no such command or file", "did you mean 'train'?"]),
        (["never.py", "--executor", "inlin"], ["did you mean 'inline'?"]),
        (["never.py", "--data", "cifar"], ["unknown data 'cifar'", "declares no data"]),
        (["never.py", "--out", "file/run"], ["file/run", "cannot be written"]),
        (["never.py", "--resume", "empty"], ["empty: is not a run directory", "sweep.json"]),
        (["never.py", "--tracking-uri", "sqlit:///x.db"], ["--tracking-uri", "'sqlite'"]),
        (["never.py", "--out", "a", "--resume", "empty"], ["--out and --resume", "leave one"]),
        (["never.py", "--epoch=3"], ["--epoch=3", "did you mean '--epochs'?"]),
        (["raising.py"], ["raising.py:15: a constraint raised KeyError", "for Config("]),
        (["demanding.py"], ["demanding.py:15: demand raised ZeroDivisionError", "for Config("]),
        (["unequipped.py", "--plan"], ["never preloads turch, which is not installed", "preload"]),
    ],
)
def test_a_bad_request_is_refused(folder: Path, arguments: list[str], expected: list[str]) -> None:
    before = sorted(folder.iterdir())

    done = run_main(*arguments, code=2)

    assert done.stderr.startswith("error: ")
    for part in expected:
        assert part in done.stderr
    assert done.stdout == ""
    left = [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"]
    assert left == before, "nothing was started or written"


def test_a_refusal_of_the_real_command_has_no_traceback(run_cli: RunCli, folder: Path) -> None:
    done = run_cli("broken.py", fresh=True, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: broken.py:16: NameError")
    assert "Traceback" not in done.stderr


def test_one_set_takes_several_knobs_and_the_file_behind_them(folder: Path) -> None:
    (folder / "never.py").write_text(SWEEP.replace("0.2))", "0.2), num_workers=choice(0, 2))"))
    varied = run_main("--plan", "never.py")
    assert "num_workers: choice(0, 2)" in varied.stdout
    fixed = run_main("--plan", "--set", "lr=0.2", "num_workers=2", "never.py")
    assert "nothing: one config" in fixed.stdout


def test_all_that_a_trainable_needs_is_exported_and_what_is_slow_comes_late() -> None:
    code = (
        "import sys, orchestrator as o; from orchestrator import Phase, Stage, Grid; "
        "missing = [n for n in o.__all__ if n not in dir(o)]; "
        "print(missing, {'torch', 'ray', 'mlflow', 'optuna', 'numpy'} & set(sys.modules)); "
        "from orchestrator import Run; print(Run.__module__, {'ray', 'mlflow'} & set(sys.modules))"
    )
    done = python("-c", code)
    assert done.stdout == "[] set()\norchestrator.measurement.run set()\n"
    with pytest.raises(ImportError, match="Runn"):
        from orchestrator import Runn  # type: ignore[attr-defined]  # noqa: F401


def test_help_needs_no_second() -> None:
    check_help("orchestrator", contains="--resume")


def test_a_signal_amid_imports_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Killing:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'orchestrator.cli':\n"
        "            os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.meta_path.insert(0, Killing())\n"
    )
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = python("-m", "orchestrator", env={**os.environ, "PYTHONPATH": paths}, code=143)
    assert (done.stdout, done.stderr) == ("", "terminated\n")


# -- files that cannot be read or written: permissions, content or name


RUN = make_record(file="never.py", data="", options={})


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a folder of bad files, some of them closed by another user."""
    folder = tmp_path_factory.mktemp("closed")
    write_never(folder)
    for name in ("unreadable", "torn"):
        (folder / name).mkdir()
        (folder / name / "sweep.json").write_text(json.dumps(RUN.to_json()))
    (folder / "torn" / "journal.jsonl").write_text('{"at": 1, "ev\n')
    (folder / "private").mkdir()
    (folder / "secret.py").write_text(SWEEP)
    private = [folder / "private", folder / "secret.py", folder / "unreadable" / "sweep.json"]
    for path in private:
        path.chmod(0)
    yield folder
    for path in private:
        path.chmod(0o700)


CASES: list[tuple[list[str], list[str]]] = [
    (["secret.py"], ["secret.py", "Permission denied"]),
    (["never.py", "--out", "private/run"], ["private/run", "Permission denied"]),
    (["--resume", "unreadable"], ["unreadable/sweep.json", "Permission denied"]),
    (["never.py", "--resume", "torn"], ["torn/journal.jsonl:1 is damaged"]),
]


def test_what_cannot_be_read_or_written_is_refused(closed: Path) -> None:
    """All cases in one process without the privileges of root."""
    done = python(
        "-m", "tests.orchestrator.helpers.without_privileges",
        input=json.dumps([arguments for arguments, _ in CASES]), cwd=closed, code=None,
    )  # fmt: skip
    if done.returncode == CANNOT:
        pytest.skip("this process keeps the privileges of root")
    assert done.returncode == 0, done.stderr
    refusals = [Finished(**finished) for finished in json.loads(done.stdout)]
    for (_, expected), refused in zip(CASES, refusals, strict=True):
        assert (refused.returncode, refused.stdout) == (2, ""), refused.stderr
        # A resumed run first prints which code it runs.
        lines = [each for each in refused.stderr.splitlines() if not each.startswith("NOTE: ")]
        assert lines[0].startswith("error: ")
        assert [part for part in expected if part not in refused.stderr] == []
    assert not (closed / "runs").exists()
    assert not (closed / "run").exists()

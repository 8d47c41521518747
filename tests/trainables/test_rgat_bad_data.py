"""Faults of a data set, named on the command line in one message before training."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.arguments import EXIT_WRONG_REQUEST
from orchestrator.data import DataFolders
from orchestrator.standalone import main
from tests.conftest import RunCli
from tests.trainables.data.sets import test_mag240m
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.rgat import rgat


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    return MAG_SYNTHETIC.at("2e-5").layout(DataFolders(root=cache, cache=cache))


@pytest.fixture
def mag240m(layout: Path, tmp_path: Path) -> Path:
    return shutil.copytree(layout, tmp_path / "root" / "mag240m_kddcup2021")


def test_code_in_a_pickle_is_refused_and_never_run(
    mag240m: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    breaks, message = test_mag240m.FAULTS["code in the counts"]
    breaks(mag240m)
    refused = run_cli("--data", mag240m, module="trainables.rgat")
    assert (refused.returncode, refused.stdout) == (EXIT_WRONG_REQUEST, "")
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "made-by-a-pickle").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fanouts", "15,x"), "argument --fanouts"),
        (("--prefetch", "streams"), "argument --prefetch"),
        (("--hidden", "0"), "argument --hidden: '0' is not an int >= 1"),
        (("--hidden", "10", "--heads", "4"), "heads must divide hidden"),
        (("--fanouts", "5"), "eval_fanouts and test_fanouts must be as many as each other"),
        (("--data", "mag-synthetic@0"), "is no scale"),
        (("--data", "mag240"), "did you mean 'mag240m'"),
    ],
)
def test_a_wrong_request(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(rgat, ["--data", "mag-synthetic@1e-5", *arguments])
    assert ended.value.code == EXIT_WRONG_REQUEST
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error

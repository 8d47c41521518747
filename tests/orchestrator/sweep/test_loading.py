"""A sweep file gives its sweep; everything that is wrong with it is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import Problems
from orchestrator.space.configs import domains_of, values_of
from orchestrator.sweep.loading import load_sweep
from tests.orchestrator.sweep.refusals import refusal
from tests.orchestrator.sweep_files import GOOD, HEADER, line_of, written


def test_a_good_file_gives_its_sweep(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path))

    assert sweep.question == "How many workers?"
    assert sweep.trainable.name == "my_sweep"
    assert list(domains_of(sweep.space)) == ["lr", "workers"]
    assert values_of(sweep.baseline) == {"lr": 0.1, "workers": 0, "prefetch": 2, "amp": "off"}


def test_a_space_may_be_a_mapping_and_hold_ray_tunes_domains(tmp_path: Path) -> None:
    tail = (
        "from ray import tune\n"
        'SWEEP = Sweep(TRAINABLE, question="?", baseline={"workers": 1},\n'
        '    space={"lr": tune.loguniform(1e-3, 1e-1), "workers": tune.choice([0, 2])})\n'
    )
    sweep = load_sweep(written(tmp_path, tail))

    assert str(domains_of(sweep.space)) == "{'lr': loguniform(0.001, 0.1), 'workers': choice(0, 2)}"
    assert values_of(sweep.baseline)["workers"] == 1


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("", "there is no SWEEP"),
        (GOOD.replace("SWEEP", "sweep"), "there is no SWEEP; did you mean 'sweep'?"),
        (GOOD.replace("SWEEP", "QUESTION"), "there is no SWEEP; did you mean 'QUESTION'?"),
        ("SWEEPS = [3]", "there is no SWEEP; did you mean 'SWEEPS'?"),
        ("SWEEP = {'lr': 3}", "SWEEP is of type dict, not Sweep"),
        ("SWEEP = Sweep", "SWEEP is of type type, not Sweep"),
    ],
)
def test_a_file_without_a_usable_sweep(tmp_path: Path, tail: str, message: str) -> None:
    error = refusal(written(tmp_path, tail))

    assert message in error.message
    assert "SWEEP = Sweep(...)" in error.hint


def test_all_problems_of_a_file_are_reported_together(tmp_path: Path) -> None:
    tail = (
        "SWEEP = Sweep(\n    TRAINABLE,\n    question='?',\n"
        "    space=Config(wokers=choice(0, 3), lr=loguniform(0, 1)),\n"
        "    baseline={'amp': 'fp16'},\n    epochs=0,\n    data='nist',\n"
        "    search=Optuna(\n        trials=-3,\n    ),\n)\n"
    )
    path = written(tmp_path, tail)
    error = refusal(path)

    assert isinstance(error, Problems)
    texts = ("wokers", "lr=loguniform", "'amp'", "epochs=0", "data='nist'", "trials=-3")
    places = [problem.message.partition(": ")[0] for problem in error.problems]
    assert places == [f"{path}:{line_of(path, text)}" for text in texts]


def test_a_file_below_the_current_folder_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sweeps").mkdir()
    path = written(
        tmp_path / "sweeps", "x = Config(lr=0.0)\n" + GOOD.replace("epochs=2", "epochs=0")
    )
    monkeypatch.chdir(tmp_path)
    error = refusal(Path("sweeps/my_sweep.py"))

    places = [line.partition(": ")[0] for line in str(error).splitlines()[::2]]
    lines = (line_of(path, "x = "), line_of(path, "epochs=0"))
    assert places == [f"sweeps/my_sweep.py:{line}" for line in lines]


def test_a_knob_problem_is_reported_with_an_error_further_down(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, "C = Config(lr=0.0)\n1 / 0\n"))

    assert "Config.lr = 0.0 is not allowed" in str(error)
    assert "ZeroDivisionError: division by zero" in str(error)


def test_the_header_is_a_file_of_its_own(tmp_path: Path) -> None:
    assert "there is no SWEEP" in refusal(written(tmp_path, "", header=HEADER)).message


@pytest.mark.parametrize("raises", ["lambda c: 1 / 0", "lambda: True", "lambda c: c.nothing"])
def test_a_condition_that_raises_is_refused_with_its_place(tmp_path: Path, raises: str) -> None:
    tail = (
        f"@knobs\nclass Own:\n    lr: float = both(default=0.1, doc='x', applies={raises})\n"
        "TRAINABLE = Trainable(print, Own, reports=[maximize('val_acc')])\n"
        "SWEEP = Sweep(TRAINABLE, question='?', space={})\n"
    )
    path = written(tmp_path, tail)
    message = refusal(path).message
    assert f"{path}:{line_of(path, f'applies={raises}')}: the condition of lr raised " in message

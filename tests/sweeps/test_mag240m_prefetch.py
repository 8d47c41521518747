import json
from pathlib import Path

import pytest

from orchestrator import Machine, Node, Published
from orchestrator.space.configs import values_of
from sweeps.mag240m_prefetch import SWEEP
from tests.conftest import RunCli
from tests.sweeps.spaces import feasible, wanted
from trainables.rgat import RgatConfig

HERE = Machine(nodes=(Node(name="here", cpus=2),))
WITH_GPU = Machine(nodes=(Node(name="there", cpus=8, gpus=1),))


def test_without_a_gpu_only_what_is_about_one_cannot_run() -> None:
    assert len(feasible(SWEEP, HERE)) == 7
    missing = set(wanted(SWEEP, HERE)) - set(feasible(SWEEP, HERE))
    assert all(config.pin_memory for config in missing)
    assert len(feasible(SWEEP, WITH_GPU)) == len(wanted(SWEEP, WITH_GPU)) == 16
    assert {"off", "thread", "stream"} == {config.prefetch for config in feasible(SWEEP, WITH_GPU)}


@pytest.mark.parametrize("published", SWEEP.published, ids=lambda each: str(each.knobs["prefetch"]))
def test_what_was_published_is_what_runs_with_the_study_s_width(published: Published) -> None:
    knobs = dict(published.knobs)
    assert knobs.pop("hidden") == RgatConfig().hidden == 1024
    [run] = [
        config for config in feasible(SWEEP, WITH_GPU) if knobs.items() <= values_of(config).items()
    ]
    assert (run.fanouts, run.heads, run.lr) == ((15, 25), 4, 1e-3)
    validation = (run.eval_fanouts, run.eval_batch_size, run.eval_every)
    assert validation == ((15, 25), 512, 1)
    assert (run.test_fanouts, run.test_batch_size) == ((160, 160), 16)


SHORT = """
from dataclasses import replace
from sweeps.mag240m_prefetch import SWEEP as WHOLE

RIGOR = replace(WHOLE.rigor, confirm=1, max_confirm=1, max_repeats=1)
SWEEP = replace(WHOLE, epochs=1, rigor=RIGOR)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_runs_on_the_generated_set(tmp_path: Path, run_cli: RunCli) -> None:
    arguments = ("--executor", "inline", "--no-mlflow", "--out", "run", "--isolation", "shared")
    small = ("--data", "mag-synthetic@1e-5", "--set", "hidden=8", "--set", "fanouts=2,3")
    (tmp_path / "short.py").write_text(SHORT)
    done = run_cli("short.py", *arguments, *small, timeout_s=280)
    assert "pin_memory=True needs a GPU" in done.stdout
    assert json.loads((tmp_path / "run/recommended.json").read_text())["config"]

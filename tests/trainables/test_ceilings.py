"""Every trainable can be called once more for its ceilings, whatever its loader lends."""

from typing import Any

import pytest
import torch

from orchestrator import DataSet, Trainable
from orchestrator.measurement.ceilings import measure_ceilings
from orchestrator.measurement.run import Run
from orchestrator.space.configs import canonical, replaced
from tests.trainables.contract import CASES, HERE, Case
from tests.trainables.running import Reports, context

WORKERS: dict[str, Any] = {
    "num_workers": 2, "prefetch_factor": 1, "persistent_workers": True, "prefetch": "thread"
}  # fmt: skip
NONE: dict[str, Any] = {"num_workers": 0}
TRIED = [
    *(pytest.param(case, WORKERS, id=f"{case.trainable.name}-workers") for case in CASES),
    # One for images and one for a graph: without workers all of them share a loop.
    *(
        pytest.param(case, NONE, id=f"{case.trainable.name}-no workers")
        for case in CASES
        if case.trainable.name in ("mlp", "graphsage")
    ),
]


def trained_and_measured(
    trainable: Trainable[Any], config: object, data: DataSet
) -> tuple[Reports, dict[str, float], str]:
    """Return the reports; figures and bound of the ceilings."""
    reports = Reports()
    demand = trainable.demand(config, HERE)
    where = context(data, epochs=3, num_workers=demand.workers, burst=demand.burst)
    run = Run(where, reports)
    threads = torch.get_num_threads()
    try:
        trainable.train(config, run)
        for _ in range(3):  # workers that start slowly while other tests run leave no time
            found = measure_ceilings(lambda again: trainable.train(config, again), run)
            if found is not None:
                break
    finally:
        torch.set_num_threads(threads)
    return reports, dict(found.metrics), found.tags["bound"]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "loader"), TRIED)
def test_every_trainable_has_ceilings(
    case: Case, loader: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whether it is worth the time is no question of a run of seconds.
    monkeypatch.setattr("orchestrator.measurement.ceilings.MAX_SHARE", 1000.0)
    knobs = {name: value for name, value in loader.items() if hasattr(case.quick, name)}
    config = canonical(replaced(case.quick, knobs))
    reports, figures, bound = trained_and_measured(case.trainable, config, case.data)
    assert len(reports.kept) == 3
    assert figures["loader_only_samples_per_s"] > 0
    assert figures["compute_only_samples_per_s"] > 0
    assert figures["headroom"] > 0.3
    assert bound in ("loader", "compute", "host")

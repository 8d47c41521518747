"""The plan of a grid of 100,000 combinations, past the imports.

    python -m benchmarks.planning

The peer is Ray Tune's own expansion of the same grid (``generate_variants``), which returns only
the combinations: it does not merge duplicates, apply constraints or leave out what
cannot run here. The promise: at most 3 s for the plan as
``--plan`` prints it, without Ray or torch being imported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.harness import Comparison, in_fresh_process, in_turn, printed
from orchestrator.arguments import Parser

PROMISED_S = 3.0

GRID: dict[str, list[Any]] = {
    "num_workers": list(range(10)),
    "prefetch_factor": [2, 4, 8, 16, 32],
    "persistent_workers": [False, True],
    "batch_size": [100 * size for size in range(1, 11)],
    "lr": [0.001 * step for step in range(1, 11)],
    "amp": ["off", "bf16"],
    "threads": [0, 1, 2, 4, 8],
}
"""100,000 combinations of the knobs that the project's own trainables share."""


def ours() -> float:
    """Seconds to plan the grid and to write the plan; in a process without Ray and torch."""
    from orchestrator import Constraint, Demand, Sweep, Trainable, choice, maximize, requires
    from orchestrator.driver.planning.plan import make_plan
    from orchestrator.driver.planning.text import plan_lines
    from orchestrator.machine import Machine, Node
    from trainables.settings import LoaderKnobs, ProcessKnobs, amp_needs_cuda, pinning_needs_cuda

    trainable = Trainable[Any](
        lambda _config, _run: None,
        _config_class(ProcessKnobs, LoaderKnobs),
        reports=[maximize("val_acc")],
        constraints=[amp_needs_cuda, pinning_needs_cuda],
        demand=lambda config, _machine: Demand(workers=config.num_workers),
        name="planned",
    )
    space = {name: choice(*values) for name, values in GRID.items()}
    affordable: Constraint[Any] = requires(lambda c: c.batch_size * c.lr < 9, "steps too large")
    sweep = Sweep(trainable, question="?", space=space, constraints=[affordable])
    machine = Machine(nodes=(Node(name="here", cpus=8),))
    began = time.perf_counter()
    plan = make_plan(sweep, machine, num_cores=8)
    lines = plan_lines(plan)
    elapsed_s = time.perf_counter() - began
    assert plan.candidates is not None
    assert plan.candidates.num_combinations == 100_000
    assert not {"ray", "torch"} & set(sys.modules)
    print("\n".join(lines), file=sys.stderr)
    return elapsed_s


def _config_class(*bases: type) -> type:
    from orchestrator import both, knobs, learning

    body = {
        "batch_size": both(default=100, ge=1, doc="samples a step"),
        "lr": learning(default=0.01, gt=0, doc="step size"),
        "__annotations__": {"batch_size": int, "lr": float},
    }
    return knobs(type("Config", bases, body))


def peer() -> float:
    """Seconds in which Ray Tune expands the same grid."""
    from ray import tune
    from ray.tune.search.variant_generator import generate_variants

    space = {name: tune.grid_search(values) for name, values in GRID.items()}
    began = time.perf_counter()
    count = sum(1 for _ in generate_variants(space))
    elapsed_s = time.perf_counter() - began
    assert count == 100_000
    return elapsed_s


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where the promise is not kept."""
    parser = Parser(prog="python -m benchmarks.planning", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each; default %(default)s")
    options = parser.parse_args(arguments)
    pairs = in_turn(
        lambda _: in_fresh_process(ours), lambda _: in_fresh_process(peer), pairs=options.pairs
    )
    printed([Comparison(what="100,000 combinations", unit="s", pairs=pairs)], "ray")
    print(f"\nslowest plan: {max(pairs.ours):.2f} s, promised {PROMISED_S:g} s")
    return 0 if max(pairs.ours) <= PROMISED_S else 1


if __name__ == "__main__":
    sys.exit(main())

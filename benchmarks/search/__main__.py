"""Replays searches on tables of true speeds and curves; see the package."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.search import made, zeus
from benchmarks.search.page import goals_lines, page_lines
from benchmarks.search.pollux import of_speed_alone, pollux
from benchmarks.search.recorded import LENET_200, LENET_LEARNING, recorded
from benchmarks.search.rivals import RIVALS, cost_to_targets, grid_once
from benchmarks.search.score import Scorer
from benchmarks.search.truth import MACHINE, Draws, Truth
from benchmarks.simulation import play
from orchestrator.analysis.columns import config_of
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.tables.load import load_run, write_tables
from orchestrator.arguments import Parser
from orchestrator.kernel.events import Asked, Event, Finished
from orchestrator.kernel.journal import read_journal
from orchestrator.machine import Machine, Node
from orchestrator.storage.files import RunDirectory
from orchestrator.trial import Stage

TRUTHS: dict[str, Callable[[], Truth]] = {
    "made-180": made.small,
    "made-1920": made.large,
    "sage": partial(recorded, "sage"),
    "sage-long": partial(recorded, "sage-long"),
    "lenet": partial(recorded, "lenet"),
    "lenet-200": partial(recorded, "lenet", LENET_200),
    "lenet-learning": partial(recorded, "lenet", LENET_LEARNING),
}
ZEUS = "zeus"
"""The public traces of Zeus: six truths, searched for the time to a target."""
POLLUX: dict[str, Callable[[Path], Truth]] = {
    "pollux-cifar10": partial(pollux, workload="cifar10"),
    "pollux-imagenet": partial(pollux, workload="imagenet"),
    "pollux-yolov3": partial(pollux, workload="yolov3"),
    "pollux-speed": of_speed_alone,
}
"""Truths of the public traces of Pollux."""
NODES = Machine(nodes=tuple(Node(name=f"node-{index}", cpus=1) for index in range(10)))
"""Ten times the machine: one trial on each node."""
ON_TEN_NODES = "lenet"
"""The truth of which the time on these is looked at."""
GIB_FOR_INTERLEAVED = 8.0


def replayed(truth: Truth, scorer: Scorer, seed: int) -> dict[str, Any]:
    """Return the figures of one whole sweep with the truth's own search."""
    began = time.perf_counter()
    sweep = replace(truth.sweep, seed=seed)
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        spent = play(
            sweep,
            Draws(truth, seed).draw,
            MACHINE,
            run_dir,
            source=truth.name,
            interleaved_gib=GIB_FOR_INTERLEAVED,
        )
        write_tables(run_dir)
        tables = load_run(run_dir)
        ranked, answer = tables.ranked, findings(tables)
        front = [
            config_of(row, tables.sweep) for row in ranked[ranked["on_front"]].to_dict("records")
        ]
        score = scorer.score(front, answer.config)
        journal = read_journal(RunDirectory(run_dir).journal)
        by_stage = _core_s(list(journal))
        ten = partial(play, sweep, Draws(truth, seed).draw, NODES, run_dir.with_name("ten"))
        on_ten = ten(source=truth.name) if truth.name == ON_TEN_NODES else None
    return {
        "time_on_ten": on_ten.simulated_s / spent.simulated_s if on_ten else None,
        "share": spent.core_s / truth.grid_core_s,
        "hypervolume": score.hypervolume,
        "epsilon": score.epsilon,
        "regret": score.regret,
        "trials": len(tables.trials),
        "own_s": spent.own_s,
        "real_s": time.perf_counter() - began,
        **{f"{stage}_share": s / truth.grid_core_s for stage, s in by_stage.items()},
    }


def _core_s(events: Sequence[Event]) -> dict[str, float]:
    stages = {event.trial.id: event.trial.stage for event in events if isinstance(event, Asked)}
    taken = dict.fromkeys(map(str, Stage), 0.0)
    for event in events:
        if isinstance(event, Finished):
            result = event.result
            taken[stages[event.trial_id]] += (result.wall_s or 0.0) * (result.cores or 0)
    return taken


def results(
    truths: Mapping[str, Callable[[], Truth]], searches: Sequence[str], seeds: int, kept: Path
) -> Iterator[dict[str, Any]]:
    """Yield a line for each truth, search and seed; the lines of ``kept`` are not run again."""
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    have = {(line["truth"], line["search"], line["seed"]): line for line in known}
    for name, make in truths.items():
        truth = make()
        scorer = Scorer(truth)
        for search in searches:
            for seed in range(seeds):
                line = have.get((name, search, seed))
                if line is None:
                    figures = _figures(search, truth, scorer, seed)
                    line = {"truth": name, "search": search, "seed": seed, **figures}
                    with kept.open("a") as file:
                        file.write(json.dumps(line) + "\n")
                yield line


def _figures(search: str, truth: Truth, scorer: Scorer, seed: int) -> dict[str, Any]:
    if search == "factored":
        return replayed(truth, scorer, seed)
    if search == "grid once":
        names = ("hypervolume", "epsilon", "regret")
        figures = dict(zip(names, grid_once(truth, scorer, seed), strict=True))
        return {"share": 1.0, **figures}
    reached, path = cost_to_targets(search, truth, scorer, seed)
    return {"reached": reached, "path": path}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page."""
    searches = ("factored", "grid once", *RIVALS)
    names = [*TRUTHS, *POLLUX, ZEUS]
    parser = Parser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--truths", nargs="+", choices=names, default=list(TRUTHS))
    parser.add_argument("--searches", nargs="+", choices=searches, default=searches)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--runs", type=Path, default=Path("search_runs.jsonl"), help="kept here")
    parser.add_argument("--traces", type=Path, help=f"folder of summary_train.csv, for {ZEUS}")
    parser.add_argument("--pollux", type=Path, help="folder of Pollux' workloads")
    options = parser.parse_args(arguments)
    if ZEUS in options.truths and options.traces is None:
        parser.error(f"--truths {ZEUS} needs --traces DIR")
    if POLLUX.keys() & {*options.truths} and options.pollux is None:
        parser.error("--truths pollux-... needs --pollux DIR")
    traced = {name: partial(make, options.pollux) for name, make in POLLUX.items()}
    known: dict[str, Callable[[], Truth]] = {**TRUTHS, **traced}
    truths = {name: known[name] for name in options.truths if name != ZEUS}
    lines = list(results(truths, options.searches, options.seeds, options.runs))
    print("\n".join([*page_lines(lines), *goals_lines(lines)]))
    if ZEUS in options.truths:
        print("\n".join(["", f"## {ZEUS}", "", *zeus.table(options.traces, options.seeds)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

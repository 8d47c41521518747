"""Made runs, one for each statement that an answer can make."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from orchestrator.analysis.findings.findings import Findings, findings
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.rules import RuleKind, SelectionRule, knee
from tests.orchestrator.analysis.made_runs import (
    ACCURACY,
    Config,
    MadeRun,
    config,
    factored_run,
    partly_contaminated_run,
    products_run,
)

FAST = config(num_workers=3)
COMPILED = config(allocator="jemalloc")
TWICE, ONCE = [2000.0, 2010.0, 2005.0], [1000.0, 1000.0, 1000.0]
NAN = float("nan")


def searched(*speeds: tuple[Config, float], **cells: object) -> MadeRun:
    """Return a run with one searching run of each config."""
    run = MadeRun()
    for c, speed in speeds:
        run.add_runs(c, [speed], **cells)
    return run


def confirmed(
    ours: Sequence[float], theirs: Sequence[float], *, searching: float = 2000.0, **cells: object
) -> MadeRun:
    """Return a run: its search found three workers, its confirm runs have these speeds."""
    run = searched((config(), 1000.0), (FAST, searching), **cells)
    for c, speeds in ((FAST, list(ours)), (config(), list(theirs))):
        run.add_runs(c, speeds, stage="confirm", **cells)
    return run


def with_objectives(run: MadeRun, *objectives: tuple[str, str], **changes: object) -> MadeRun:
    run.sweep["objectives"] = [{"metric": metric, "goal": goal} for metric, goal in objectives]
    run.sweep |= changes
    return run


def set_accuracy(run: MadeRun, workers: int, accuracy: float) -> MadeRun:
    for row in run.rows:
        if row["params.num_workers"] == workers:
            row[ACCURACY] = accuracy + 0.0001 * row["repeat"]
    return run


def by_rule(rule: SelectionRule) -> MadeRun:
    """Return a run with a baseline that is not the fastest but that the rule selects."""
    run = searched((config(), 1000.0), (FAST, 1050.0), (config(num_workers=1), 400.0))
    for row, accuracy in zip(run.rows, (0.95, 0.80, 0.951), strict=True):
        row[ACCURACY] = accuracy
    run.sweep["rule"] = rule.to_json()
    return run


def cheaper_tie() -> MadeRun:
    run = confirmed(ONCE, [1001.0, 1002.0, 1003.0], searching=990.0)
    run.sweep["baseline"] = FAST
    return run


def compiled(
    start_s: float = 6.0,
    gain: float = 0.12,
    epochs: int = 10,
    spread_s: float = 0.05,
    others: Sequence[tuple[Config, float, float]] = (),
) -> MadeRun:
    """Return a run of two configs: epochs of a second, and ones that are shorter by a gain.

    ``others``: further configs, each with the seconds of its start and of an epoch.
    """
    run = MadeRun()
    run.sweep["budget"] = {"epochs": epochs, "steps": None}
    two = (config(), 1.0, 1.0), (COMPILED, start_s, 1 / (1 + gain))
    for c, own_s, epoch_s in (*two, *others):
        for repeat in range(3):
            train_s, noise_s = 30 * epoch_s, spread_s * (repeat - 1)
            times = {"train_s": train_s, "epoch_s": epoch_s, "eval_s": 0.0, "epochs": 30.0}
            cells = {f"metrics.{name}": value for name, value in times.items()}
            cells |= {"metrics.first_epoch_s": epoch_s, "wall_s": train_s + own_s + noise_s}
            run.add_runs(c, [1000.0 / epoch_s], first=repeat, **cells)
    return run


def one_without_effect() -> MadeRun:
    """Return a run of two knobs: workers double the speed, threads change nothing."""
    run = MadeRun()
    for workers, speed in ((0, 1000.0), (3, 2000.0)):
        for threads in (0, 2):
            speeds = [speed * (1 + 0.002 * off) for off in (-1, 0, 1)]
            run.add_runs(config(num_workers=workers, threads=threads), speeds)
    return run


def none_holds() -> MadeRun:
    run = searched((config(), 1000.0), (FAST, 2000.0))
    run.sweep["objectives"][1]["bound"] = 0.99
    return run


def finalist() -> MadeRun:
    run = MadeRun()
    for workers, speed, confirm in ((0, 400.0, 400.0), (3, 990.0, 990.0), (6, 1000.0, 1100.0)):
        run.add_runs(config(num_workers=workers), [speed])
        speeds = [confirm, confirm * 1.001, confirm * 0.999]
        run.add_runs(config(num_workers=workers), speeds, stage="confirm")
    return run


def targeted(ours: Sequence[float | None], theirs: Sequence[float | None]) -> MadeRun:
    """Return a run by the time to val_acc 0.5, which None did not reach, in confirm runs."""
    run = MadeRun()
    target = {"metric": "val_acc", "goal": "maximize", "bound": 0.5}
    with_objectives(run, ("time_to_accuracy_s", "minimize"), target=target)
    for c, figures in ((FAST, ours), (config(), theirs)):
        run.add(c)
        for repeat, figure in enumerate(figures):
            row = run.add(c, stage="confirm", repeat=repeat)
            last = {"trial_id": row["trial_id"], "step": 1, "epoch": 1, "samples": 1}
            run.curves = [one for one in run.curves if one["trial_id"] != row["trial_id"]]
            reached = {"elapsed_s": figure or 90.0, "metrics.val_acc": 0.6 if figure else 0.4}
            run.curves.append({**last, **reached, "metrics.train_loss": 1.0})
    return run


def not_reached() -> MadeRun:
    run = targeted([], [])
    run.sweep["target"]["bound"] = 0.99
    return run


def rewards(ours: Sequence[float], theirs: Sequence[float]) -> MadeRun:
    """Return a run by a figure that may be negative."""
    run = with_objectives(MadeRun(), ("mean_reward", "maximize"))
    for c, figures in ((config(), theirs), (FAST, ours)):
        run.add(c, **{"metrics.mean_reward": figures[0]})
        for repeat, figure in enumerate(figures):
            run.add(c, stage="confirm", repeat=repeat, **{"metrics.mean_reward": figure})
    return run


def lost(*rows: tuple[Config, str, str]) -> MadeRun:
    run = MadeRun()
    for c, state, reason in rows:
        run.add(c, state=state, reason=reason)
    return run


def baseline_lost() -> MadeRun:
    run = searched((FAST, 3900.0))
    run.add(config(), state="failed", reason="ValueError: no\nTraceback")
    return run


def no_pair() -> MadeRun:
    run = searched((config(), 1000.0), (FAST, 3900.0))
    for c in (FAST, config()):
        run.add(c, stage="confirm", state="not_run", reason="the time budget ended")
    return run


def no_confirm_stage() -> MadeRun:
    run = searched((config(), 1000.0), (FAST, 3900.0))
    run.sweep |= {"confirm": 0, "cuts": ["the time budget left no room for the confirm stage"]}
    return run


def partly_disturbed() -> MadeRun:
    run = confirmed([500.0, 4000.0], [1000.0, 300.0])
    run.rows[-1]["tags.contaminated"] = "40 %"
    return run


def one_class() -> MadeRun:
    classes = "metrics.val_classes_predicted"
    run = searched((config(), 800.0), **{classes: 1.0})
    run.add_runs(FAST, [1300.0], **{classes: 1.0})
    run.add_runs(FAST, [1300.0], stage="confirm", **{classes: 7.0})
    run.add_runs(config(num_workers=8), [9000.0], device="NVIDIA H200")
    return run


def caveats_of_its_runs() -> MadeRun:
    """Return a run of a config on shared cores, with a lost and a contaminated run."""
    run = confirmed(TWICE, ONCE, isolation="shared")
    run.add_runs(FAST, [900.0], first=1, isolation="shared", **{"tags.contaminated": "30 %"})
    run.add(FAST, state="infeasible", reason="out of memory", repeat=2, isolation="shared")
    return run


def slower_than_a_short_baseline() -> MadeRun:
    run = set_accuracy(confirmed([800.0, 802.0, 803.0], ONCE), 0, 0.5)
    for row in run.rows:
        if row["stage"] == "confirm" and row["params.num_workers"] == 3:
            row[ACCURACY] = 0.8
    return run


def minimised() -> MadeRun:
    run = confirmed(TWICE, ONCE)
    for row in run.rows:
        row["metrics.step_ms"] = 1e6 / row["metrics.samples_per_s"]
        row["metrics.val_loss"] = 0.5 - 0.2 * (row["params.num_workers"] == 3)
    return with_objectives(run, ("step_ms", "minimize"), ("val_loss", "minimize"))


def stopped() -> MadeRun:
    run = MadeRun()
    run.add(config(num_workers=8), state="stopped", reason="enough seen")
    return run


def replayed() -> RunTables:
    tables = confirmed(TWICE, ONCE).tables
    return replace(tables, sweep=replace(tables.sweep, replayed="runs/a/1", data_note=""))


def busy() -> MadeRun:
    cells = {"tags.contaminated": "40 %", "metrics.foreign_share": 0.4}
    return confirmed([27_570.0, 27_600.0, 27_580.0], ONCE, **cells)


RUNS: dict[str, Callable[[], MadeRun | RunTables]] = {
    "a whole run": products_run,
    "a factored run": factored_run,
    "a factored run without confirm runs": lambda: factored_run(confirmed=False),
    "more accurate": lambda: set_accuracy(confirmed(TWICE, ONCE), 3, 0.925),
    "minimised objectives": minimised,
    "a tie that is cheaper": cheaper_tie,
    "faster by an unknown factor": lambda: confirmed([2000.0, 3000.0, 2500.0], ONCE),
    "slower, and the baseline short of the rule": slower_than_a_short_baseline,
    "slower by an unknown factor": lambda: set_accuracy(
        confirmed([500.0, 400.0, 300.0], ONCE), 0, 0.5
    ),
    "the baseline stays, by a factor": lambda: confirmed([800.0, 802.0, 803.0], ONCE),
    "the baseline stays, by an unknown factor": lambda: confirmed([500.0, 400.0, 300.0], ONCE),
    "the baseline stays in a tie": lambda: confirmed([1001.0, 1002.0, 1003.0], ONCE),
    "the knee is the baseline": lambda: by_rule(knee()),
    "a function that is not at hand": lambda: by_rule(
        SelectionRule(kind=RuleKind.FUNCTION, name="mine")
    ),
    "no other is accurate enough": lambda: set_accuracy(confirmed([], []), 3, 0.5),
    "no other is faster": lambda: confirmed(ONCE, ONCE, searching=1000.0),
    "an empty run": MadeRun,
    "failures alone": lambda: lost(
        (config(), "infeasible", "needs 2 GPUs, the largest node has 0"),
        (config(ranks=2), "failed", "ValueError: no\nTraceback: 1"),
        (config(ranks=3), "failed", "ValueError: no\nTraceback: 2"),
    ),
    "a bound that no config holds": none_holds,
    "a target that no trial reached": not_reached,
    "a figure that was not reported": lambda: searched((config(), NAN)),
    "a finalist": finalist,
    "a start that does not pay": compiled,
    "a knob without an effect": one_without_effect,
    "a cheaper config": lambda: searched(
        (config(), 1000.0), (FAST, 3900.0), (config(num_workers=6), 3940.0)
    ),
    "figures without a ratio": lambda: rewards([-5.0, -5.1, -4.9], [-10.0] * 3),
    "rounds that did not reach the target": lambda: targeted((20, None, None), (None, 31, None)),
    "a baseline that was not run": lambda: searched((FAST, 3900.0)),
    "a baseline without a speed": lambda: searched((config(), NAN), (FAST, 3900.0)),
    "a baseline that failed": baseline_lost,
    "no confirm stage": no_confirm_stage,
    "no confirm run": lambda: confirmed([], []),
    "no pair": no_pair,
    "a busy machine": busy,
    "disturbed and wide": partly_disturbed,
    "one pair": lambda: confirmed([2000.0], [1000.0]),
    "not told apart": lambda: confirmed([1010.0, 1300.0, 1100.0], [1000.0, 1210.0, 1130.0]),
    "one class": one_class,
    "caveats of its runs": caveats_of_its_runs,
    "a contaminated run": partly_contaminated_run,
    "all contaminated": lambda: searched((FAST, 900.0), **{"tags.contaminated": "12 %"}),
    "stopped": stopped,
    "a replay": replayed,
}


@cache
def tables_of(name: str) -> RunTables:
    run = RUNS[name]()
    return run.tables if isinstance(run, MadeRun) else run


@cache
def findings_of(name: str) -> Findings:
    return findings(tables_of(name))

"""One row a config, its confirm runs before its searching runs; the tables made of these rows.

``front.csv`` has the configs that no other one beats, ``speeds.csv`` the speed of
each trial's config.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import configs_of, metrics_of, params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.statistics.pareto import in_order
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import learned_word, telling_knobs
from orchestrator.formats import counted
from orchestrator.metric_table import Place, names_shown
from orchestrator.trial import FINAL, LOAD, Stage, TrialState

MEASURED_IN: Final = "measured_in"
"""Column of the stage that a config's speed is of."""

_ENDS: Final = ("_low", "_high", "_within_low", "_within_high")
_RUNS: Final = ("num_runs", "num_all_runs", "interval", "trial_ids", "timed_ids", LOAD)
SIGN: Final = "†"
"""Stands behind figures of configs that were not themselves both trained and probed."""
SIGN_AMONG: Final = f"{SIGN} composed: a config among them was not itself trained and probed"
LOAD_SIGN: Final = "‡"
"""Stands behind speeds of runs under other load, in every front."""
_AGAINST_BEST: Final = (
    "interval", COMPOSED, MEASURED_IN, "num_runs", "num_all_runs", LOAD, "verdict",
    "ratio_to_best", GROUP, "trial_ids",
)  # fmt: skip


def runs_text(row: Mapping[Any, Any], learned: str) -> str:
    """Return the runs that a config's figures are of: ``3``, ``2 (accuracy 3)``, ``3 to confirm``.

    In a factored search: ``4 probes, 1 curve``.

    Args:
        row: From :func:`with_finals`, or without ``measured_in``.
        learned: ``accuracy``, or what else was learned.
    """
    timed, trained = row["num_runs"], row["num_all_runs"]
    is_final = row.get(MEASURED_IN) == FINAL
    if "curve_ids" in row and not is_final:
        return f"{counted(timed, 'probe')}, {counted(trained, 'curve')}"
    alike = timed == trained or (is_final and not trained)
    text = f"{timed}" if alike else f"{timed} ({learned} {trained})"
    return f"{text} to {FINAL}" if is_final else text


def grounds_text(row: Mapping[Any, Any], learned: str) -> str:
    """Return what a config's figures are of: ``runs: 3``, ``composed: 4 probes, 1 curve``."""
    return f"{'composed' if sign_of(row) else 'runs'}: {runs_text(row, learned)}"


def with_finals(configs: pd.DataFrame, finals: pd.DataFrame, speed_column: str) -> pd.DataFrame:
    """Return the configs with the figures of their confirm runs, which selected nothing.

    The searching runs give the figures that the confirm runs lack. The baseline and the
    recommended config have a row also where only confirm runs trained them.

    Args:
        configs: With ``verdict``, ``on_front``, ``is_baseline`` and ``is_recommended``.
        finals: Configs of the confirm stage, one row each, with the same marks.
        speed_column: The figure that ``measured_in`` is of.
    """
    shown = configs.assign(**{MEASURED_IN: str(Stage.TRAIN)})
    if finals.empty:
        return shown
    keys = [*params_of(configs), GROUP]
    numbers = finals[keys].assign(place=finals.index)
    place = configs[keys].merge(numbers, how="left", on=keys)["place"].to_numpy()
    new = finals.reindex(place).set_axis(shown.index).reindex(columns=shown.columns)
    for figure in (c for c in metrics_of(configs) if not c.endswith(_ENDS)):
        known = new[figure].notna()
        for column in (figure, *(f"{figure}{end}" for end in _ENDS)):
            if column in shown:
                shown[column] = shown[column].mask(known, new[column])
    timed = new[speed_column].notna()
    for column in (c for c in _RUNS if c in shown):
        shown[column] = shown[column].mask(timed, new[column]).astype(shown[column].dtype)
    shown[COMPOSED] &= ~(timed & (new["num_all_runs"] > 0))
    shown.loc[timed, MEASURED_IN] = str(FINAL)
    alone = finals[finals["is_baseline"] | finals["is_recommended"]]
    alone = alone[~alone.index.isin(place)]
    if alone.empty:
        return shown
    alone = alone.assign(verdict="", on_front=False, **{MEASURED_IN: str(FINAL)})
    return pd.concat([shown, alone.reindex(columns=shown.columns)], ignore_index=True)


def sign_of(row: Mapping[Any, Any]) -> str:
    """Return the sign behind a composed figure, or ""."""
    return f" {SIGN}" if row.get(COMPOSED, False) else ""


def sign_notes(tables: RunTables, shown: pd.DataFrame, num_known: int) -> Iterator[str]:
    """Yield the sign's meaning and how many configs have figures; nothing if all were trained."""
    if not tables.is_composed:
        return
    learned = learned_word(tables.rule)
    if shown[COMPOSED].any():
        yield (
            f"{SIGN} composed: speed from probes of the config's setting, {learned} from "
            "curves with its learning knobs; the config itself was not both trained and probed. A "
            f"claimed speed-up rests on {FINAL} runs alone"
        )
    num_stopped = len(tables.searched_configs(TrialState.STOPPED))
    num_all = len(tables.candidates)
    yield (
        f"of {counted(num_all, 'config')} {num_known:,} have a speed and a final {learned}; the "
        f"curves of {num_stopped:,} were stopped early; {num_all - num_known - num_stopped:,} "
        "cannot run here or were left out"
    )


def count_text(rows: pd.DataFrame) -> str:
    """Return ``12 configs (3 composed)``."""
    num = int(rows[COMPOSED].sum())
    return counted(len(rows), "config") + (f" ({num} composed)" if num else "")


def load_sign_of(row: Mapping[Any, Any]) -> str:
    """Return the sign behind a speed of runs under other load, or ""."""
    return f" {LOAD_SIGN}" if row.get(LOAD, False) else ""


def load_note(rows: pd.DataFrame) -> str:
    """Return the sign's meaning with the number of configs that have it; "" for none."""
    num, of = int(rows[LOAD].sum()), counted(len(rows), "speed")
    return f"{LOAD_SIGN} {num} of {of}: of runs under other load alone" if num else ""


def front_table(tables: RunTables) -> pd.DataFrame:
    """Return the content of ``front.csv``: the front, the best of the first objective first.

    Columns: ``params.*`` of every knob, the objectives, the speed's interval and what it
    is an interval over, other figures that were measured, the ``verdict`` against the best
    with ``ratio_to_best``, the ``group`` of rows that may be ranked together, and the ids of the
    trials. The main group's front comes first.
    """
    configs, rule = _measured(tables), tables.rule
    front = in_order(configs[configs["on_front"]], rule.objectives)
    speed, others = rule.speed.metric, [o.metric for o in (*rule.objectives, rule.accuracy)]
    names = [speed, f"{speed}_low", f"{speed}_high", *others, *names_shown(Place.FRONT)]
    figures = [f"metrics.{name}" for name in names if f"metrics.{name}" in front.columns]
    telling = telling_knobs(configs_of(front, tables.sweep), tables.sweep)
    knobs = [c for c in (f"params.{name}" for name in telling) if c in front.columns]
    columns = dict.fromkeys([*knobs, *params_of(front), *figures, *_AGAINST_BEST])
    table = front[list(columns)].reset_index(drop=True)
    return table.assign(trial_ids=table["trial_ids"].map(" ".join))


def speeds_table(tables: RunTables) -> pd.DataFrame:
    """Return the content of ``speeds.csv``: each whole trial's id, and the speed of its config.

    It is the speed of the report's table: of confirm runs, else of the searching runs or composed.
    """
    speed = tables.rule.speed_column
    configs = pd.concat([_measured(tables), tables.finals], ignore_index=True)
    trials = tables.grouped[tables.grouped["state"] == TrialState.COMPLETED]
    columns = ["trial_id", "metric", "value"]
    if configs.empty or speed not in configs:
        return pd.DataFrame(columns=columns)
    keys = [*params_of(configs), GROUP]
    speeds = configs.drop_duplicates(keys)[[*keys, speed]].dropna(subset=[speed])
    own = trials.loc[trials["stage"] != Stage.PROBE, ["trial_id", *keys]].merge(speeds, on=keys)
    return own.assign(metric=tables.rule.speed.metric, value=own[speed])[columns]


def _measured(tables: RunTables) -> pd.DataFrame:
    """Return the configs with one figure each; ``trial_ids`` are of the runs of all stages."""
    ranked = tables.ranked
    finals = tables.finals.assign(is_baseline=False, is_recommended=False)
    shown = with_finals(ranked, finals, tables.rule.speed_column)
    both = zip(ranked["trial_ids"], shown["trial_ids"], strict=True)
    ids = [tuple(dict.fromkeys((*searching, *own))) for searching, own in both]
    return shown.assign(trial_ids=pd.Series(ids, index=shown.index, dtype="object"))


def main_front(front: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a :func:`front_table` that are of the main group."""
    return front[front[GROUP] == front[GROUP].iloc[0]] if len(front) else front

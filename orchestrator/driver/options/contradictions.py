"""Options that cannot stand together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.driver.executors import DEFAULT_EXECUTOR, EXECUTORS
from orchestrator.driver.options.declaration import flag
from orchestrator.driver.options.settings import is_of_replay
from orchestrator.errors import SweepError


def contradictions(given: Mapping[str, Any]) -> Iterator[SweepError]:
    """Yield an error for each two of the options given that contradict each other."""
    pairs = [
        ("out", "resume"),
        ("warm_start", "resume"),
        ("table", "resume"),
        ("tracking_uri", "no_mlflow"),
        ("experiment", "no_mlflow"),
    ]
    texts = [
        f"{flag(one)} and {flag(two)}" for one, two in pairs if given.get(one) and given.get(two)
    ]
    executor = given.get("executor") or DEFAULT_EXECUTOR
    if given.get("address") and not EXECUTORS[executor].on_clusters:
        texts.append(f"--address and --executor {executor}")
    for text in texts:
        yield SweepError(f"{text} contradict each other", "leave one of them out")
    yield from _of_a_replay(given, is_replay=EXECUTORS[executor].simulated)


def _of_a_replay(given: Mapping[str, Any], *, is_replay: bool) -> Iterator[SweepError]:
    """Yield an error for a replay without a table, and for its options without a replay."""
    if is_replay and not given.get("table"):
        yield SweepError(
            "--executor replay: no table to replay",
            "give the directory of a run: --table RUN_DIR",
        )
    settings = [text for text in given.get("set", ()) if is_of_replay(text)]
    for words in ["--table"] * bool(given.get("table")) + [f"--set {text}" for text in settings]:
        if not is_replay:
            yield SweepError(f"{words} is for replays", "give --executor replay with it")
    for name in ("download", "data_root"):
        if given.get(name) and is_replay:
            yield SweepError(f"{flag(name)}: a replay reads no data", "leave it out")

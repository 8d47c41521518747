"""``sweep.json``: a sweep as resolved, and whether a resumed one is still the same."""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.driver.plan import make_plan
from orchestrator.errors import RunDirectoryError
from orchestrator.provenance.environment import environment
from orchestrator.provenance.node_tags import nodes_record
from orchestrator.provenance.source_text import source_text
from orchestrator.space.declare import canonical, domains_of, knobs_of, values_of
from orchestrator.storage.journal import Event
from orchestrator.sweep.definition import Sweep
from orchestrator.tracking.mlflow.places import without_password
from orchestrator.trial import Isolation

if TYPE_CHECKING:
    from orchestrator.driver.assembly import Request
    from orchestrator.driver.trials import TrialFactory

STORED = (
    "data", "data_root", "set", "search", "trials", "seed", "repeats", "retries",
    "cores_per_trial", "isolation", "max_concurrent", "executor", "address", "tracking_uri",
    "no_mlflow",
)  # fmt: skip
"""Options that a resumed run takes from the run it goes on with, where not given again."""

_NUMBERS = (
    "repeats", "max_repeats", "confirm", "max_confirm", "finalists", "check_isolated",
    "accuracy_tolerance", "tie_margin",
)  # fmt: skip
"""Fields of the sweep that are recorded as they are."""

_ASKED = (
    "trainable", "space", "fixed", "baseline", "objectives", "budget", "search", "repeats",
    "max_repeats", "confirm", "max_confirm", "finalists", "check_isolated", "accuracy_tolerance",
    "tie_margin", "seed", "isolation", "constraints",
)  # fmt: skip
"""What must not differ between a run and its resumption: another question is another run."""

_FOUND = ("data", "cores_per_trial")
"""What must not differ either, and is known once the data and the machine are there."""


def sweep_record(
    setting: TrialFactory, request: Request, command_line: Sequence[str]
) -> dict[str, Any]:
    """Everything about a sweep that is known before its first trial."""
    sweep = setting.sweep
    knobs = knobs_of(sweep.trainable.config)
    return {
        "name": request.file.stem,
        "file": str(request.file.absolute()),
        "question": sweep.question,
        **_asked(sweep),
        "source_hash": setting.source_hash,
        "data": setting.data_name,
        "data_fingerprint": setting.data_fingerprint,
        "data_note": " ".join(request.data_note.splitlines()),
        "knobs": {
            name: {
                "role": knob.role,
                "unit": knob.unit,
                "doc": knob.doc,
                "default": _plain(knob.default),
                "allowed": knob.allowed,
                "type": getattr(knob.type, "__name__", str(knob.type)),
            }
            for name, knob in knobs.items()
        },
        "cores_per_trial": setting.num_cores,
        "nodes": nodes_record(tuple(node.name for node in setting.machine.nodes)),
        "at_once": setting.at_once,
        "num_slots": setting.num_slots,
        "interleaved_gib": setting.interleaved_gib,
        "memory_per_trial_gib": sweep.memory_per_trial_gib,
        "published": [
            {"source": p.source, "knobs": dict(p.knobs), "figures": dict(p.figures), "note": p.note}
            for p in sweep.published
        ],
        "num_planned": _num_planned(setting),
        "options": _options(request),
        "command_line": ["python", "-m", "orchestrator", *map(without_password, command_line)],
        "started_at": time.time(),
        **environment(request.file),
    }


def _options(request: Request) -> dict[str, Any]:
    """The options to go on with, from whatever folder that is done."""
    given = vars(request.options) | {"data_root": request.folders.root}
    if request.options.data:
        given["data"] = request.data
    return {name: _told(_plain(given[name])) for name in STORED}


def _asked(sweep: Sweep[Any]) -> dict[str, Any]:
    """What the sweep asks, whatever machine and data answer it."""
    domains = domains_of(sweep.space)
    return {
        "trainable": sweep.trainable.name,
        "seed": sweep.seed,
        "objectives": [{"metric": o.metric, "goal": o.goal} for o in sweep.objectives],
        "space": {name: str(domain) for name, domain in domains.items()},
        "fixed": {
            name: _plain(value)
            for name, value in values_of(sweep.space).items()
            if name not in domains
        },
        "baseline": {name: _plain(v) for name, v in values_of(canonical(sweep.baseline)).items()},
        "budget": asdict(sweep.budget),
        "search": repr(sweep.search),
        "isolation": str(Isolation(sweep.isolation)),
        "constraints": [source_text(constraint) for constraint in sweep.constraints],
        **{name: getattr(sweep, name) for name in _NUMBERS},
    }


def _num_planned(setting: TrialFactory) -> int | None:
    """Rows that the sweep will have, at most; None where its search has no end of its own."""
    plan = make_plan(setting.sweep, setting.machine, num_cores=setting.num_cores)
    if plan.max_configs is None:
        return None
    return plan.num_probes + plan.max_configs * setting.sweep.repeats + plan.num_confirm


def restored_options(options: Namespace, stored: Mapping[str, Any]) -> Namespace:
    """The options of a resumed run: those given now, else those it was started with."""
    restored = Namespace(**vars(options))
    for name in STORED:
        given, before = getattr(options, name), stored.get("options", {}).get(name)
        if not _is_given(given) and before is not None and not _is_contradicted(name, options):
            setattr(restored, name, Path(before) if name == "data_root" else before)
    # What was asked for depends on it, and a resumed search must ask for the same.
    restored.at_once = stored.get("at_once")
    restored.num_slots = stored.get("num_slots")
    restored.interleaved_gib = stored.get("interleaved_gib", 0.0)
    if options.sweep_file is None:
        restored.sweep_file = Path(stored["file"])
    return restored


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != []


def _is_contradicted(name: str, options: Namespace) -> bool:
    """Whether what was given now rules a stored option out."""
    contradicted: dict[str, bool] = {
        "address": options.executor == "inline",
        "executor": _is_given(options.address),
        "tracking_uri": _is_given(options.no_mlflow),
        "no_mlflow": _is_given(options.tracking_uri),
    }
    return contradicted.get(name, False)


def require_same_question(past: Sequence[Event], sweep: Sweep[Any], run_dir: Path) -> None:
    """Before anything is started.

    Raises:
        RunDirectoryError: The sweep now asks another question, or the journal does not tell.
    """
    if past:
        _require_same(_before(past, run_dir), _asked(sweep), _ASKED, run_dir)


def changes_since(past: Sequence[Event], record: Mapping[str, Any], run_dir: Path) -> list[str]:
    """What has changed since a run was started, for the user to know.

    Raises:
        RunDirectoryError: The sweep would be answered by other data or on other cores.
    """
    if not past:
        return []
    before = _before(past, run_dir)
    _require_same(before, record, _FOUND, run_dir)
    notes = []
    for key, what in (("source_hash", "the trainable's source"), ("data_fingerprint", "the data")):
        if before.get(key) != record[key]:
            notes.append(
                f"{what} has changed since this run was started: what has finished is kept as it "
                "is and not comparable with the rest; start a new run to measure all of it again"
            )
    return notes


def _before(past: Sequence[Event], run_dir: Path) -> Mapping[str, Any]:
    before: Mapping[str, Any] | None = past[0].get("sweep")
    if before is None:
        raise RunDirectoryError(
            f"--resume {run_dir}: its journal does not begin with the sweep", "start a new run"
        )
    return before


def _require_same(
    before: Mapping[str, Any], record: Mapping[str, Any], keys: Sequence[str], run_dir: Path
) -> None:
    different = [key for key in keys if before.get(key) != _through_json(record[key])]
    if different:
        lines = [f"{key}: {before.get(key)!r} then, {record[key]!r} now" for key in different]
        raise RunDirectoryError(
            f"--resume {run_dir}: the sweep has changed since:\n  " + "\n  ".join(lines),
            "start a new run, or give the options and the sweep file that it was started with",
        )


def _through_json(value: Any) -> Any:  # noqa: ANN401 - plain JSON values
    return json.loads(json.dumps(value, default=str))


def _told(value: Any) -> Any:  # noqa: ANN401 - plain JSON values
    return without_password(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:  # noqa: ANN401 - plain JSON values
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Path) else value

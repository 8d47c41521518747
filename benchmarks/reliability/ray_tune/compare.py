"""Plain Ray Tune and ours, held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.reliability.ray_tune.cases import Refused, Space
from benchmarks.reliability.ray_tune.ours import Outcome, direct, draws, fitted
from benchmarks.reliability.ray_tune.plain import Reports
from benchmarks.reliability.ray_tune.seen import described
from orchestrator import SweepError
from orchestrator.execution.ray.functions.derived import is_derived
from orchestrator.space.configs import domains_of

NUM_DRAWS = 40

Seen = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Row:
    """One function or space.

    Attributes:
        kind: What it is.
        name: Its name.
        plain: What plain Ray Tune made of it.
        ours: What we made of it.
        differences: What differs and is not documented.
        documented: The documented difference, if it is one.
    """

    kind: str
    name: str
    plain: str
    ours: str
    differences: tuple[str, ...] = ()
    documented: str = ""

    @property
    def verdict(self) -> str:
        """Whether the two are the same."""
        if self.differences:
            return "DIFFERS: " + "; ".join(self.differences)
        return f"documented: {self.documented}" if self.documented else "same"


def of_function(
    kind: str, name: str, plain: tuple[str, Reports], ours: Outcome,
    seen: tuple[Seen, Seen], documented: tuple[str, str, str] | None = None,
) -> Row:  # fmt: skip
    """Return the row of a function.

    Args:
        kind: What it is.
        name: Its name.
        plain: State and reports under plain Ray Tune.
        ours: What we have of it.
        seen: What it saw there and here.
        documented: Our state, a part of its reason and the difference, where there is to be one.
    """
    state, reports = plain
    shown = f"{state}, {len(reports)} reports", f"{ours.state}, {len(ours.reports)} reports"
    if documented is not None:
        met = ours.state == documented[0] and documented[1] in ours.reason
        text = "" if met else f"{ours.state}: {ours.reason[:80]}"
        return Row(kind, name, *shown, tuple(filter(None, [text])), documented[2])
    found = []
    if state != ours.state:
        found.append(f"state {state} and {ours.state}: {ours.reason[:100]}")
    if not _are_close(reports, ours.reports):
        found.append(f"reports {reports[-3:]} and {list(ours.reports)[-3:]}")
    if reports and state == "completed" and not _are_close(reports[-1:], [ours.last]):
        found.append(f"last {reports[-1]} and {ours.last}")
    for what in ("config", "files", "cleaned"):
        views = [[each.get(what) for each in side] for side in seen]
        if views[0] != views[1]:
            found.append(f"{what} {str(views[0])[:120]} and {str(views[1])[:120]}")
    return Row(kind, name, *shown, tuple(found))


def _are_close(some: Sequence[Mapping[str, float]], others: Sequence[Mapping[str, float]]) -> bool:
    if [set(each) for each in some] != [set(each) for each in others]:
        return False
    pairs = zip(some, others, strict=True)
    return all(abs(a[k] - b[k]) <= 1e-9 * max(abs(a[k]), 1e-300) for a, b in pairs for k in a)


def of_space(name: str, case: Space, drawn: Sequence[Mapping[Any, Any]], seen: Seen) -> Row:
    """Return the row of a space.

    Args:
        name: Its name.
        case: The space.
        drawn: Configs that plain Ray Tune drew.
        seen: What the function saw of them.
    """
    found: list[str] = []
    views: list[str] = []
    for config in drawn:
        given = {key: value for key, value in config.items() if key not in case.derived}
        trainable, space, start = fitted(described, case.space, given)

        def see(config: dict[str, Any]) -> None:
            views.append(described(config))

        outcome = direct(fitted(see, case.space, given)[0], start)
        expected = described(config)
        if views[-1] != expected:
            found.append(f"config {expected[:120]} and {views[-1][:120]}")
        if outcome.state != "completed":
            found.append(outcome.reason)
        for knob, domain in domains_of(space).items():
            value = getattr(start, knob)
            if not knob.startswith(case.options or "//") and not domain.contains(value):
                found.append(f"{knob} = {value!r} is not in {domain}")
    if sorted(views) != sorted(each["config"] for each in seen):
        found.append(f"seen {[each['config'] for each in seen]} and {views}"[:300])
    trainable, space, _ = fitted(described, case.space)
    for config in draws(space, trainable.config, NUM_DRAWS):
        found += invalid(case.space, trainable.config.__param_space__.dictionary(config), "")
    shown = _short(described(drawn[0])), _short(views[0])
    return Row("space", name, shown[0], shown[1], tuple(dict.fromkeys(found)))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def invalid(space: Any, value: Any, name: str) -> Iterator[str]:  # noqa: ANN401 - any objects
    """Yield what of a config that we drew plain Ray Tune would not draw."""
    if is_derived(space):
        return
    if isinstance(space, dict) and set(space) == {"grid_search"}:
        yield from _none_of(list(space["grid_search"]), value, name)
    elif hasattr(space, "get_sampler"):
        yield from _outside(space, value, name)
    elif isinstance(space, (dict, list, tuple)):
        # Ray Tune hands plain ones over, and so do we.
        plain = next(kind for kind in (dict, list, tuple) if isinstance(space, kind))
        if type(value) is not plain or _keys(space) != _keys(value):
            yield f"{name}: {described(value)} for {space}"
            return
        for key in _keys(space):
            yield from invalid(space[key], value[key], f"{name}/{key}")
    elif described(space) != described(value):
        yield f"{name}: {described(value)} for {described(space)}"


def _keys(container: Any) -> list[Any]:  # noqa: ANN401 - a dictionary or a list
    return list(container if isinstance(container, dict) else range(len(container)))


def _none_of(options: Sequence[Any], value: Any, name: str) -> Iterator[str]:  # noqa: ANN401
    if not any(not list(invalid(option, value, name)) for option in options):
        yield f"{name}: {described(value)} is none of {options}"


def _outside(domain: Any, value: Any, name: str) -> Iterator[str]:  # noqa: ANN401 - Ray's own
    if type(domain).__name__ == "Categorical":
        yield from _none_of(domain.categories, value, name)
        return
    kind, sampler = type(domain.sample()), domain.get_sampler()
    step = getattr(sampler, "q", None)
    is_open = kind is int and step in (None, 1)
    inside = domain.lower <= value < domain.upper if is_open else domain.is_valid(value)
    if type(value) is not kind or not inside:
        yield f"{name}: {described(value)} is not in {domain.domain_str}"
    if step and abs(value / step - round(value / step)) > 1e-9:
        yield f"{name}: {value} is no multiple of {step}"


def of_refused(name: str, case: Refused) -> Row:
    """Return the row of a space that is refused with a message."""
    try:
        fitted(described, case.space)
    except SweepError as error:
        missing = [part for part in case.says if part not in str(error)]
        found = (f"says {error}",) if missing else ()
        return Row("space", name, "not run", "refused", found, case.says[0])
    return Row("space", name, "not run", "taken", ("it is taken",), case.says[0])

"""The table of a reliability campaign: what went wrong in how many rounds of each kind of fault."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import astuple, dataclass, fields


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Rounds of one kind of fault, and what they should have none of.

    Attributes:
        rounds: Faults that were made.
        lost: Trials that a run should have finished and has not.
        repeated: Trials that have finished more than once.
        hung: Commands that did not end in time.
        tracebacks: Commands that wrote a traceback.
        leaks: Processes and files that were left behind.
        wrong: Rounds that ended otherwise than they should, in another way.
    """

    rounds: int = 0
    lost: int = 0
    repeated: int = 0
    hung: int = 0
    tracebacks: int = 0
    leaks: int = 0
    wrong: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            **{
                each.name: getattr(self, each.name) + getattr(other, each.name)
                for each in fields(Counts)
            }
        )

    @property
    def is_clean(self) -> bool:
        """Return True if nothing went wrong."""
        return not any(astuple(self)[1:])


def table(
    rows: Iterable[tuple[str, Counts]], *, first: str = "fault", without: Collection[str] = ()
) -> str:
    """Return a markdown table, a line a kind of fault.

    Args:
        rows: Names of the kinds, and their counts.
        first: Heading of the first column.
        without: Counts that the campaign does not take: a 0 would say that there was none.
    """
    names = [each.name for each in fields(Counts) if each.name not in without]
    lines = [f"| {' | '.join([first, *names])} |", "| --- |" + " ---: |" * len(names)]
    for name, counts in rows:
        taken = [str(getattr(counts, each)) for each in names]
        lines.append(f"| {name} | {' | '.join(taken)} |")
    return "\n".join(lines)

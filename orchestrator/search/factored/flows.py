"""Flows of trials: steps one after the other, and flows side by side."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.kernel.problem import SearchProblem, key_of
from orchestrator.kernel.search import WAIT, Pause, Proposal
from orchestrator.trial import Trial

Flow = Iterator[Sequence["Proposal | Flow"]]
"""Steps, one after the other. The trials and flows of a step are side by side."""


@dataclass(eq=False)
class _Line:
    """A flow, the line that waits for its end, and how much of its step has not ended."""

    flow: Flow
    within: "_Line | None" = None
    num_left: int = 0


class Flows:
    """Asks for the trials of a flow, and of the flows in it.

    A flow continues when the last trial of its step has its result, not at a question: so
    trials and results in the order of a journal repeat it.
    """

    def __init__(self, problem: SearchProblem, flow: Flow) -> None:
        self._problem = problem
        self._queue = deque[tuple[_Line, Proposal]]()
        self._out = defaultdict[object, list[_Line]](list)
        self._first = _Line(flow)
        self._continue(self._first)

    def replace(self, flow: Flow) -> None:
        """Continue with another flow once the step of the outermost one has ended."""
        self._first.flow = flow
        self._continue(self._first)

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial."""
        if not self._queue:
            return WAIT if self._out else None
        line, proposal = self._queue.popleft()
        self._out[self._key(proposal)].append(line)
        return proposal

    def tell(self, trial: Trial) -> None:
        """Continue the flow that asked for a trial, if its step has ended with it."""
        lines = self._out[self._key(trial)]
        line = lines.pop(0)
        if not lines:
            del self._out[self._key(trial)]
        line.num_left -= 1
        self._continue(line)

    def _continue(self, line: _Line) -> None:
        while not line.num_left:
            step = next(line.flow, None)
            if step is None:
                if line.within is not None:
                    line.within.num_left -= 1
                    self._continue(line.within)
                return
            line.num_left = len(step) + 1  # it waits until all have begun
            for each in step:
                if isinstance(each, Proposal):
                    self._queue.append((line, each))
                else:
                    self._continue(_Line(each, line))
            line.num_left -= 1

    def _key(self, asked: Proposal) -> tuple[object, ...]:
        return key_of(self._problem, asked.config), asked.stage, asked.repeat, asked.budget
